import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupedMean, groupedShare } from './grouped-interval.ts'
import { wilsonInterval } from './interval.ts'

// [GROUPED-2]
test('groups in which all samples do the same are as many trials as there are groups', () => {
  // Rates 1, 0, 1, 0: p = 1/2, var of the mean = (4 · 1/4) / (4 · 3) = 1/12, so n' = (1/4) / (1/12) = 3, at least 4.
  expect(groupedShare([1, 0, 1, 0], [8, 8, 8, 8])).toEqual(wilsonInterval(2, 4))
})

// [GROUPED-2]
test('groups that differ by no more than chance are as many trials as there are episodes', () => {
  // Rates 0.5 and 0.5: no spread between them says less than groups; 0.5 and 0.625 of 8 differ as independent trials may.
  expect(groupedShare([0.5, 0.625], [8, 8])).toEqual(wilsonInterval(9, 16))
})

// [GROUPED-1]
test('an interval contains the share, within [0, 1]', () => {
  const group = fc.record({ won: fc.nat(8), of: fc.integer({ min: 8, max: 16 }) })
  fc.assert(
    fc.property(fc.array(group, { minLength: 1, maxLength: 20 }), (groups) => {
      const rates = groups.map(({ won, of }) => won / of)
      const sizes = groups.map(({ of }) => of)
      const share = groups.reduce((sum, { won }) => sum + won, 0) / sizes.reduce((sum, size) => sum + size, 0)
      const { low, high } = groupedShare(rates, sizes)
      expect(low).toBeGreaterThanOrEqual(0)
      expect(high).toBeLessThanOrEqual(1)
      expect(low).toBeLessThanOrEqual(share + 1e-9)
      expect(high).toBeGreaterThanOrEqual(share - 1e-9)
    }),
  )
})

test('the mean of groups has the interval of Student', () => {
  // Means 0 and 1: mean 1/2, deviation √½, of the mean 1/2; t₁ = 12.706.
  expect(groupedMean([0, 1])).toEqual({ low: 0.5 - 12.706 / 2, high: 0.5 + 12.706 / 2 })
  // 30 degrees of freedom: 2.0423 (table of Student's t).
  const means = Array.from({ length: 31 }, (_, group) => group)
  const { high = 0 } = groupedMean(means) ?? {}
  const deviation = Math.sqrt(means.reduce((sum, mean) => sum + (mean - 15) ** 2, 0) / (31 * 30))
  expect((high - 15) / deviation).toBeCloseTo(2.0423, 3)
  expect(groupedMean([1])).toBeUndefined()
})
