import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { differenceInterval } from './interval.ts'
import { type Pair, pairedDifference, successDifference } from './paired-difference.ts'

const share = fc.integer({ min: 0, max: 8 }).map((successes) => successes / 8)
const pairs = fc.array(fc.record({ before: share, after: share }), { minLength: 1, maxLength: 40 })
const seed = fc.nat(2 ** 31)

/** So many instances that only the first, only the second, both and neither solve. */
function outcomes(first: number, second: number, both: number, neither: number): Pair[] {
  const times = (count: number, before: number, after: number) =>
    Array.from({ length: count }, () => ({ before, after }))
  return [...times(first, 1, 0), ...times(second, 0, 1), ...times(both, 1, 1), ...times(neither, 0, 0)]
}

describe('the paired difference', () => {
  it('is the mean over instances, and counts those that each was better on', () => {
    const found = pairedDifference(outcomes(2, 8, 30, 60), 1)
    expect(found).toMatchObject({ difference: 0.06, better: 8, worse: 2 })
    // The standard error by hand: √((10 − 0.06²·100) / 100²) ≈ 0.031, times 1.96.
    expect(found.low).toBeCloseTo(0, 1)
    expect(found.high).toBeCloseTo(0.12, 1)
  })

  it('is known better than that of independent rates where instances differ in difficulty', () => {
    const paired = pairedDifference(outcomes(2, 8, 45, 45), 1)
    const apart = differenceInterval({ successes: 47, n: 100 }, { successes: 53, n: 100 })
    expect(paired.high - paired.low).toBeLessThan(0.5 * (apart.high - apart.low))
  })

  it('of instances that all agree is as uncertain as that of independent rates', () => {
    const { low, high, difference } = pairedDifference(outcomes(0, 0, 5, 5), 1)
    const { low: lowest, high: highest } = differenceInterval(
      { successes: 5, n: 10 },
      { successes: 5, n: 10 },
    )
    expect({ low, high, difference }).toEqual({ low: lowest, high: highest, difference: 0 })
  })

  it('of no instances is refused', () => {
    expect(() => pairedDifference([], 1)).toThrow(RangeError)
  })

  it('lies in its interval, within [−1, 1], and turns round when the two are exchanged', () => {
    fc.assert(
      fc.property(pairs, seed, (given, draws) => {
        const found = pairedDifference(given, draws)
        const turned = pairedDifference(
          given.map(({ before, after }) => ({ before: after, after: before })),
          draws,
        )
        expect(found.low).toBeGreaterThanOrEqual(-1)
        expect(found.low).toBeLessThanOrEqual(found.difference)
        expect(found.high).toBeGreaterThanOrEqual(found.difference)
        expect(found.high).toBeLessThanOrEqual(1)
        expect(turned.low).toBeCloseTo(-found.high, 9)
        expect(turned.high).toBeCloseTo(-found.low, 9)
        expect([turned.better, turned.worse]).toEqual([found.worse, found.better])
      }),
    )
  })
})

describe('the difference of two policies [DIFFERENCE-1]', () => {
  const one = new Map([
    ['a', 0],
    ['b', 1],
    ['c', 0],
  ])

  it('is paired over the instances that both played', () => {
    const other = new Map([
      ['a', 1],
      ['b', 1],
      ['z', 0],
    ])
    expect(successDifference(one, other, 7)).toEqual({
      instances: 2,
      paired: pairedDifference(
        [
          { before: 0, after: 1 },
          { before: 1, after: 1 },
        ],
        7,
      ),
    })
  })

  it('is that of independent rates where they share no instance, and none where one of them played nothing', () => {
    const other = new Map([['z', 0.5]])
    expect(successDifference(one, other, 7)).toEqual({
      instances: 0,
      unpaired: differenceInterval({ successes: 1, n: 3 }, { successes: 0.5, n: 1 }),
    })
    expect(successDifference(one, new Map(), 7)).toEqual({ instances: 0 })
  })
})
