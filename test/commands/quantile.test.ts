import fc from 'fast-check'
import { expect, it } from 'vitest'
import { quantile } from '../../bench/figure.ts'

it('a quantile is one of the values: the least that so large a share of all does not pass', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
  expect([0.01, 0.5, 0.99, 1].map((share) => quantile(hundred, share))).toEqual([1, 50, 99, 100])
  expect(quantile([3, 1, 2, 4], 0.5)).toBe(2)
  expect(quantile([], 0.5)).toBeNaN()
  const values = fc.array(fc.integer(), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 64 }), (list, part) => {
      // Sixty-fourths, so that no product is rounded.
      const share = part / 64
      const among = (limit: number) => list.filter((value) => value <= limit).length / list.length
      const reached = list.filter((value) => among(value) >= share)
      expect(quantile(list, share)).toBe(Math.min(...reached))
    }),
  )
})
