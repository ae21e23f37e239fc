import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { passAtK } from './pass-at-k.ts'

const counts = fc
  .integer({ min: 1, max: 60 })
  .chain((samples) => fc.record({ samples: fc.constant(samples), successes: fc.nat(samples) }))

describe('passAtK', () => {
  it('passAtK() counts the choices of k samples that hold a success', () => {
    // Three of the C(4, 2) = 6 pairs of {win, −, −, −} hold the win.
    expect(passAtK(4, 1, 2)).toBeCloseTo(3 / 6, 12)
    // C(10, 5) = 252 choices, C(7, 5) = 21 without any of the three wins.
    expect(passAtK(10, 3, 5)).toBeCloseTo(1 - 21 / 252, 12)
    expect(passAtK(5, 0, 5)).toBe(0)
    // Three failures cannot fill four places.
    expect(passAtK(5, 2, 4)).toBe(1)
  })

  it('pass@k is within [0, 1], rises with k, and is the success rate for k = 1', () => {
    fc.assert(
      fc.property(counts, ({ samples, successes }) => {
        expect(passAtK(samples, successes, 1)).toBeCloseTo(successes / samples, 10)
        let before = 0
        for (let k = 1; k <= samples; k++) {
          const value = passAtK(samples, successes, k)
          expect(value).toBeGreaterThanOrEqual(before - 1e-12)
          expect(value).toBeLessThanOrEqual(1)
          before = value
        }
      }),
      { numRuns: 50 },
    )
  })

  it('passAtK() refuses more successes or choices than samples', () => {
    expect(() => passAtK(3, 4, 1)).toThrow(RangeError)
    expect(() => passAtK(3, 1, 4)).toThrow(RangeError)
    expect(() => passAtK(3, 1, 0)).toThrow(RangeError)
  })
})
