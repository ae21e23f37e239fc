import { describe, expect, it } from 'vitest'
import { staleness, stalenessStatistics } from '../rollout/staleness.ts'
import { isRewarded, outcomes } from './outcome.ts'
import { finalReward, isSuccess, notCompletedRules, rewardRules } from './reward.ts'

const rules = { atLeast: 1, notCompleted: 'penalty', penalty: -0.2 } as const
const limits = ['turn_limit', 'context_limit', 'invalid_action', 'task_limit'] as const

describe('finalReward', () => {
  it('an infrastructure failure or a cancellation never carries a reward', () => {
    for (const notCompleted of notCompletedRules)
      for (const outcome of outcomes)
        expect(finalReward(outcome, 1, { ...rules, notCompleted }) !== null).toBe(isRewarded(outcome))
  })

  it('an episode that did not complete earns the penalty, keeps what it was paid, or both', () => {
    for (const outcome of limits) {
      expect(finalReward(outcome, 0.4, rules)).toBe(-0.2)
      expect(finalReward(outcome, 0.4, { ...rules, notCompleted: 'keep' })).toBe(0.4)
      expect(finalReward(outcome, 0.4, { ...rules, notCompleted: 'add' })).toBe(0.2)
    }
  })

  it('a completed episode earns what the environment paid', () => {
    for (const notCompleted of notCompletedRules) {
      expect(finalReward('completed', 0, { ...rules, notCompleted })).toBe(0)
      expect(finalReward('completed', 0.75, { ...rules, notCompleted })).toBe(0.75)
    }
    expect(() => finalReward('completed', Number.NaN, rules)).toThrow(RangeError)
  })
})

describe('rewardRules', () => {
  const learning = { notCompletedPenalty: -0.5 }

  it('a task has its own rules, and those of the paper where it names none', () => {
    const tasks = [{ task: 'shop', success: { atLeast: 0.5 }, notCompleted: 'keep' }, { task: 'os' }] as const
    expect(rewardRules({ learning, tasks }, 'shop')).toEqual({
      atLeast: 0.5,
      demonstrated: 0.5,
      notCompleted: 'keep',
      penalty: -0.5,
    })
    expect(rewardRules({ learning, tasks }, 'os')).toEqual({
      atLeast: 1,
      demonstrated: 1,
      notCompleted: 'penalty',
      penalty: -0.5,
    })
  })
})

describe('staleness', () => {
  // [STALENESS-1]
  it('staleness is the distance of versions and never negative', () => {
    expect(staleness(7, 5)).toBe(2)
    expect(staleness(7, 7)).toBe(0)
    expect(() => staleness(5, 7)).toThrow(RangeError)
  })

  it('stalenessStatistics() gives mean and largest, zeros without groups', () => {
    expect(stalenessStatistics([0, 1, 2])).toEqual({ mean: 1, max: 2 })
    expect(stalenessStatistics([])).toEqual({ mean: 0, max: 0 })
  })
})

// [REWARD-1]
it('a success is a final reward of at least what the task asks for', () => {
  expect(isSuccess(1, rules)).toBe(true)
  expect(isSuccess(0.5, rules)).toBe(false)
  expect(isSuccess(0.5, { atLeast: 0.5 })).toBe(true)
  expect(isSuccess(null, { atLeast: -1 })).toBe(false)
})
