import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { probabilityOfImprovement, type ScorePair } from './improvement.ts'

const pairs = (better: readonly number[], than: readonly number[]): readonly ScorePair[] =>
  better.map((score, at) => ({ better: score, than: than[at] ?? 0 }))

describe('the probability of improvement', () => {
  it('counts the pairs of runs that one wins, half of those that neither does, and tasks alike', () => {
    // 3 > 1, 3 < 4, 5 > 1, 5 > 4: three of four. 2 = 2 four times: one half.
    const [first, second] = [pairs([3, 5], [1, 4]), pairs([2, 2], [2, 2])]
    expect(probabilityOfImprovement([first], 1).value).toBe(0.75)
    expect(probabilityOfImprovement([first, second], 1).value).toBe((0.75 + 0.5) / 2)
  })

  it('does not see by how much: a task that gains much counts as one that gains little', () => {
    const tasks = [pairs([90, 91, 92], [1, 2, 3]), pairs([4, 5, 6], [4.1, 5.1, 6.1])]
    // On the second task only 5 > 4.1, 6 > 4.1 and 6 > 5.1 of nine.
    expect(probabilityOfImprovement(tasks, 1).value).toBeCloseTo((1 + 3 / 9) / 2, 12)
  })

  // [IMPROVEMENT-1]
  it('lies in its interval within 0 and 1, and turns round with the arms', () => {
    const score = fc.integer({ min: 0, max: 6 })
    const task = fc.array(fc.record({ better: score, than: score }), { minLength: 4, maxLength: 4 })
    fc.assert(
      fc.property(fc.array(task, { minLength: 1, maxLength: 4 }), fc.nat(), (tasks, seed) => {
        const { value, low, high } = probabilityOfImprovement(tasks, seed)
        expect(low).toBeGreaterThanOrEqual(0)
        expect(high).toBeLessThanOrEqual(1)
        expect(low).toBeLessThanOrEqual(value)
        expect(high).toBeGreaterThanOrEqual(value)
        const turned = tasks.map((own) => own.map(({ better, than }) => ({ better: than, than: better })))
        expect(probabilityOfImprovement(turned, seed).value).toBeCloseTo(1 - value, 12)
      }),
      { numRuns: 50 },
    )
  })

  it('of seeds that all agree is certain of them, and of mixed ones is not', () => {
    expect(probabilityOfImprovement([pairs([5, 6, 7], [1, 2, 3])], 1)).toEqual({ value: 1, low: 1, high: 1 })
    const mixed = probabilityOfImprovement([pairs([1, 9, 2, 8], [5, 5, 5, 5])], 1)
    expect(mixed.high - mixed.low).toBeGreaterThan(0.5)
  })
})
