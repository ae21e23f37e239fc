import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextTask } from './task-mix.ts'

function play(weights: readonly number[], counts: number[], length: number, look: (n: number) => void): void {
  for (let n = 1; n <= length; n++) {
    const task = nextTask(weights, counts)
    counts[task] = (counts[task] ?? 0) + 1
    look(n)
  }
}

const weights = fc
  .array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 7 })
  .filter((some) => some.some((weight) => weight > 0))

describe('nextTask', () => {
  it("each task's count is less than one away from its share at every prefix", () => {
    fc.assert(
      fc.property(weights, (mix) => {
        const total = mix.reduce((sum, weight) => sum + weight, 0)
        const counts = mix.map(() => 0)
        play(mix, counts, 150, (n) => {
          for (const [task, weight] of mix.entries())
            expect(Math.abs((counts[task] ?? 0) - (n * weight) / total)).toBeLessThan(1)
        })
      }),
      { numRuns: 60 },
    )
  })

  it('equal weights take turns in order', () => {
    const counts = [0, 0, 0]
    const order: number[] = []
    for (let n = 0; n < 6; n++) {
      const task = nextTask([1, 1, 1], counts)
      counts[task] = (counts[task] ?? 0) + 1
      order.push(task)
    }
    expect(order.slice(0, 3).toSorted()).toEqual([0, 1, 2])
    expect(order.slice(3).toSorted()).toEqual([0, 1, 2])
  })

  it('a task of weight 0 is never chosen, whatever was counted before', () => {
    fc.assert(
      fc.property(weights, fc.array(fc.nat(40), { minLength: 7, maxLength: 7 }), (mix, history) => {
        const task = nextTask(mix, history.slice(0, mix.length))
        expect(mix[task]).toBeGreaterThan(0)
      }),
    )
  })

  it('counts from before a change of weights become fair again', () => {
    const counts = [40, 0]
    play([1, 1], counts, 60, () => {})
    expect(counts).toEqual([50, 50])
  })

  it('nextTask() refuses a mix that cannot be chosen from', () => {
    expect(() => nextTask([], [])).toThrow(RangeError)
    expect(() => nextTask([0, 0], [0, 0])).toThrow('no positive weight')
    expect(() => nextTask([1], [0, 0])).toThrow(RangeError)
    expect(() => nextTask([1, Number.NaN], [0, 0])).toThrow('NaN')
  })
})
