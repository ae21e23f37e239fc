/** The learning signal of updates, and a run that learns nothing. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  hasFailedToLearn,
  isUntrained,
  type LearningSignal,
  type Standstill,
  standstillAfter,
  standstillWords,
} from './learning-signal.ts'

const lost: LearningSignal = { groups: 8, withPreference: 0, won: 0, lost: 8, unusable: 0.1, cutOff: 0 }

function standstillOf(...signals: readonly LearningSignal[]): Standstill | null {
  return signals.reduce<Standstill | null>((before, signal) => standstillAfter(before, signal), null)
}

describe('an update without a group of different rewards', () => {
  it('is counted with those before it, until one has something to learn from', () => {
    expect(standstillOf(lost)?.updates).toBe(1)
    expect(standstillOf(lost, lost, lost)?.updates).toBe(3)
    expect(standstillOf(lost, { ...lost, withPreference: 1, lost: 7 })).toBeNull()
    expect(standstillOf(lost, { ...lost, withPreference: 1, lost: 7 }, lost)?.updates).toBe(1)
  })

  it.each([
    ['all_won', { won: 8, lost: 0 }, /Every episode was won/],
    ['all_lost', {}, /only 10 % .* more turns/],
    ['unusable_actions', { unusable: 0.63 }, /63 % of the actions could not be used: .* call the tools/],
    ['cut_off_actions', { unusable: 0.63, cutOff: 0.6 }, /60 % were cut off at `rollout.maxTokensPerTurn`/],
    ['equal_rewards', { won: 3, lost: 4 }, /3 groups were won .* 4 lost by all, and 1 paid alike/],
  ] as const)('has a cause, %s, and the words say what to do', (cause, figures, words) => {
    const standstill = standstillOf({ ...lost, ...figures }, { ...lost, ...figures })
    expect(standstill?.cause).toBe(cause)
    expect(standstill && standstillWords(standstill)).toMatch(words)
    expect(standstill && standstillWords(standstill)).toMatch(
      /^0 of 8 groups with different rewards for 2 updates: nothing is learnt\. /,
    )
  })

  it('takes the same room however long it lasts', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (updates) => {
        const standstill = standstillOf(...Array.from({ length: updates }, () => lost))
        expect(JSON.stringify(standstill).length).toBeLessThan(200)
      }),
    )
  })
})

describe('a run whose policy never changed', () => {
  const course = (step: number, signal = lost) => ({
    step,
    emptyUpdates: step,
    nothingLearnt: { ...signal, updates: step, cause: signal.won === 8 ? 'all_won' : 'all_lost' } as const,
  })

  it('is untrained, and has failed unless it won everything or had too few updates to tell', () => {
    expect([course(4), course(5)].map(hasFailedToLearn)).toEqual([false, true])
    expect(hasFailedToLearn(course(15, { ...lost, won: 8, lost: 0 }))).toBe(false)
    expect([course(1), course(0), { step: 3, emptyUpdates: 2 }].map(isUntrained)).toEqual([
      true,
      false,
      false,
    ])
  })
})
