import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { differenceInterval, wilsonInterval } from './interval.ts'

const counts = fc
  .integer({ min: 1, max: 5000 })
  .chain((n) => fc.record({ n: fc.constant(n), successes: fc.integer({ min: 0, max: n }) }))

describe('wilsonInterval', () => {
  it('wilsonInterval() of 5 in 10 is 0.2366 to 0.7634', () => {
    // z² = 3.841459; centre 0.5; spread 1.96·√(0.025 + 3.841459/400)/(1 + 0.3841459) = 0.26341
    const { low, high } = wilsonInterval(5, 10)
    expect(low).toBeCloseTo(0.2366, 4)
    expect(high).toBeCloseTo(0.7634, 4)
  })

  it('wilsonInterval() of none in 10 ends at 0.2775', () => {
    // z²/(n + z²) = 3.841459/13.841459
    expect(wilsonInterval(0, 10).low).toBe(0)
    expect(wilsonInterval(0, 10).high).toBeCloseTo(0.2775, 4)
  })

  it('an interval lies within [0, 1] and contains the measured rate', () => {
    fc.assert(
      fc.property(counts, ({ successes, n }) => {
        const { low, high } = wilsonInterval(successes, n)
        expect(low).toBeGreaterThanOrEqual(0)
        expect(high).toBeLessThanOrEqual(1)
        expect(low).toBeLessThanOrEqual(successes / n)
        expect(high).toBeGreaterThanOrEqual(successes / n)
      }),
    )
  })

  it('wilsonInterval() refuses no trials and more successes than trials', () => {
    expect(() => wilsonInterval(0, 0)).toThrow(RangeError)
    expect(() => wilsonInterval(3, 2)).toThrow(RangeError)
  })
})

describe('differenceInterval', () => {
  it("differenceInterval() gives Newcombe's published interval for 56/70 against 48/80", () => {
    // R. G. Newcombe (1998), table II, example (a), method 10: 0.0524 to 0.3339 around 0.2
    const { difference, low, high } = differenceInterval({ successes: 48, n: 80 }, { successes: 56, n: 70 })
    expect(difference).toBeCloseTo(0.2, 12)
    expect(low).toBeCloseTo(0.0524, 4)
    expect(high).toBeCloseTo(0.3339, 4)
  })

  it('a difference contains what was measured and turns its sign with the order', () => {
    fc.assert(
      fc.property(counts, counts, (a, b) => {
        const forward = differenceInterval(a, b)
        const backward = differenceInterval(b, a)
        expect(forward.low).toBeLessThanOrEqual(forward.difference)
        expect(forward.high).toBeGreaterThanOrEqual(forward.difference)
        expect(forward.low).toBeCloseTo(-backward.high, 10)
        expect(forward.low).toBeGreaterThanOrEqual(-1)
        expect(forward.high).toBeLessThanOrEqual(1)
      }),
    )
  })
})
