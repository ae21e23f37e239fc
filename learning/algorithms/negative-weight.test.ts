import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { weighNegative } from './negative-weight.ts'

const reward = fc.double({ min: -10, max: 10, noNaN: true, noDefaultInfinity: true })

describe('weighNegative', () => {
  it('weighNegative() halves what is negative and nothing else, and at 1 changes nothing', () => {
    expect(weighNegative([-2, 0, 3], 0.5)).toEqual([-1, 0, 3])
    expect(weighNegative([-2, 0, 3], 1)).toEqual([-2, 0, 3])
  })

  // [NEGATIVE-WEIGHT-1]
  it('changes no sign and no positive advantage', () => {
    fc.assert(
      fc.property(fc.array(reward), fc.double({ min: 0.01, max: 1, noNaN: true }), (advantages, weight) => {
        for (const [index, weighed] of weighNegative(advantages, weight).entries()) {
          const before = advantages[index] ?? 0
          if (before >= 0) expect(weighed).toBe(before)
          else expect(weighed).toBeCloseTo(weight * before, 12)
          expect(Math.abs(weighed)).toBeLessThanOrEqual(Math.abs(before))
        }
      }),
    )
  })
})
