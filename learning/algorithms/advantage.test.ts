import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AdvantageEstimator, groupAdvantages, weighNegative } from './advantage.ts'

const estimators: readonly AdvantageEstimator[] = ['grpo', 'dr_grpo', 'rloo', 'reinforce_pp']
const reward = fc.double({ min: -10, max: 10, noNaN: true, noDefaultInfinity: true })
const rewards = fc.array(reward, { minLength: 2, maxLength: 16 })

describe('groupAdvantages', () => {
  it('groupAdvantages() of grpo divides by the unbiased deviation', () => {
    // mean 1/2, deviations ±1/2, unbiased variance (1/4 + 1/4)/1 = 1/2, 0.5/0.70711 = 0.70711
    const [low, high] = groupAdvantages([0, 1], 'grpo')
    expect(low).toBeCloseTo(-Math.SQRT1_2, 4)
    expect(high).toBeCloseTo(Math.SQRT1_2, 4)
  })

  it('groupAdvantages() of grpo gives one winner of eight 2.4749 and each loser −0.3536', () => {
    // mean 1/8; squares (7/8)² + 7·(1/8)² = 0.875; variance 0.875/7 = 0.125, deviation 0.353553
    // 0.875/0.353553 = 2.474874, −0.125/0.353553 = −0.353553
    const advantages = groupAdvantages([1, 0, 0, 0, 0, 0, 0, 0], 'grpo')
    expect(advantages[0]).toBeCloseTo(2.47487, 4)
    for (const loser of advantages.slice(1)) expect(loser).toBeCloseTo(-0.35355, 4)
  })

  it('groupAdvantages() of dr_grpo and reinforce_pp only subtracts the mean', () => {
    // mean (0 + 0.5 + 1)/3 = 0.5
    expect(groupAdvantages([0, 0.5, 1], 'dr_grpo')).toEqual([-0.5, 0, 0.5])
    expect(groupAdvantages([0, 0.5, 1], 'reinforce_pp')).toEqual([-0.5, 0, 0.5])
  })

  it('groupAdvantages() of rloo subtracts the mean of the others', () => {
    // 0 − (0.5 + 1)/2 = −0.75; 0.5 − (0 + 1)/2 = 0; 1 − (0 + 0.5)/2 = 0.75
    expect(groupAdvantages([0, 0.5, 1], 'rloo')).toEqual([-0.75, 0, 0.75])
  })

  // [ADVANTAGE-1]
  it('a group with equal rewards gets advantages of exactly zero', () => {
    fc.assert(
      fc.property(reward, fc.integer({ min: 2, max: 16 }), (value, size) => {
        for (const estimator of estimators)
          expect(groupAdvantages(new Array(size).fill(value), estimator)).toEqual(new Array(size).fill(0))
      }),
    )
  })

  // [ADVANTAGE-2]
  it("the group's advantages sum to zero and keep the order of the rewards", () => {
    fc.assert(
      fc.property(rewards, fc.constantFrom(...estimators), (group, estimator) => {
        const advantages = groupAdvantages(group, estimator)
        expect(Math.abs(advantages.reduce((sum, value) => sum + value, 0))).toBeLessThan(1e-6)
        for (const [i, a] of group.entries())
          for (const [j, b] of group.entries())
            if (a < b) expect(advantages[i]).toBeLessThanOrEqual(advantages[j] ?? Number.NaN)
      }),
    )
  })

  it('groupAdvantages() refuses fewer than two rewards and rewards that are not finite', () => {
    expect(() => groupAdvantages([1], 'grpo')).toThrow(RangeError)
    expect(() => groupAdvantages([1, Number.NaN], 'grpo')).toThrow('NaN')
    expect(() => groupAdvantages([1, Number.POSITIVE_INFINITY], 'rloo')).toThrow(RangeError)
  })
})

describe('weighNegative', () => {
  it('weighNegative() halves what is negative and nothing else, and at 1 changes nothing', () => {
    expect(weighNegative([-2, 0, 3], 0.5)).toEqual([-1, 0, 3])
    expect(weighNegative([-2, 0, 3], 1)).toEqual([-2, 0, 3])
  })

  // [ADVANTAGE-3]
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
