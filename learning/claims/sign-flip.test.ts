import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { signFlipTest, smallestSignFlip } from './sign-flip.ts'

const difference = fc.integer({ min: -20, max: 20 }).map((points) => points / 20)

describe('the sign-flip test', () => {
  it('counts the ways whose sum is at least as far from zero', () => {
    // Among the sums ±1 ±2 ±3 only 6 and −6 reach 6; among ±1 ±1 ±3, 3 and more in size: ±5, ±3 twice, each with either sign.
    expect(signFlipTest([1, 2, 3], 1)).toEqual({ p: 2 / 8, smallest: 2 / 8, exact: true })
    expect(signFlipTest([1, -1, 3], 1).p).toBe(6 / 8)
  })

  it('has the p of scipy.stats.permutation_test', () => {
    const given = [0.12, 0.08, 0.15, 0.02, 0.11].map((each) => each - 0.05)
    expect(signFlipTest(given, 1).p).toBeCloseTo(0.1875, 12)
    expect(signFlipTest([0.3, -0.1, 0.25, 0.4, -0.05, 0.2, 0.15], 1).p).toBeCloseTo(0.078125, 12)
  })

  // [SIGN-FLIP-1]
  it('of many differences draws signs, and comes close to the p of all of them', () => {
    // Seventeen times the same: all or none of the signs, 2/2¹⁷, is below what is drawn.
    const all = signFlipTest(new Array<number>(17).fill(1), 7)
    expect(all).toMatchObject({ exact: false })
    expect(all.p).toBeLessThan(0.001)
    // Sixteen of which one is turned, against the same with a zero more, which no sign changes.
    const sixteen = [...new Array<number>(12).fill(1), -1, -1, -1, -1]
    const exact = signFlipTest(sixteen, 7)
    const drawn = signFlipTest([...sixteen, 0], 7)
    expect([exact.exact, drawn.exact]).toEqual([true, false])
    expect(drawn.p).toBeCloseTo(exact.p, 2)
  })

  // [SIGN-FLIP-2]
  it('is at least the smallest that there is, and the same with all signs turned round', () => {
    fc.assert(
      fc.property(fc.array(difference, { minLength: 1, maxLength: 10 }), (given) => {
        const { p, smallest } = signFlipTest(given, 1)
        expect(p).toBeGreaterThanOrEqual(smallest)
        expect(p).toBeLessThanOrEqual(1)
        expect(
          signFlipTest(
            given.map((each) => -each),
            1,
          ).p,
        ).toBe(p)
        expect(smallest).toBe(smallestSignFlip(given.length))
      }),
    )
  })

  it('of nothing is refused', () => {
    expect(() => signFlipTest([], 1)).toThrow(RangeError)
  })
})
