import { describe, expect, it } from 'vitest'
import { staleness, stalenessStatistics } from '../rollout/staleness.ts'
import { isRewarded, outcomes } from './outcome.ts'
import { finalReward, isSuccess } from './reward.ts'

describe('finalReward', () => {
  it('an infrastructure failure or a cancellation never carries a reward', () => {
    expect(finalReward('infrastructure_error', 1, -0.2)).toBeNull()
    expect(finalReward('cancelled', 1, -0.2)).toBeNull()
    for (const outcome of outcomes) expect(finalReward(outcome, 1, -0.2) !== null).toBe(isRewarded(outcome))
  })

  it('an episode that did not complete earns the penalty, whatever it was paid on the way', () => {
    for (const outcome of ['turn_limit', 'context_limit', 'invalid_action', 'task_limit'] as const)
      expect(finalReward(outcome, 0.4, -0.2)).toBe(-0.2)
  })

  it('a completed episode earns what the environment paid', () => {
    expect(finalReward('completed', 0, -0.2)).toBe(0)
    expect(finalReward('completed', 0.75, -0.2)).toBe(0.75)
    expect(() => finalReward('completed', Number.NaN, -0.2)).toThrow(RangeError)
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

it('a success is a completed episode with full reward, and nothing else', () => {
  expect(isSuccess('completed', 1)).toBe(true)
  expect(isSuccess('completed', 0.5)).toBe(false)
  expect(isSuccess('turn_limit', 1)).toBe(false)
  expect(isSuccess('infrastructure_error', null)).toBe(false)
})
