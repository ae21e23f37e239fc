import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holmAdjusted } from './holm.ts'

it('multiplies the smallest p by all, the next by one less, and never falls', () => {
  // Sorted 0.005·5, 0.01·4, 0.03·3, 0.04·2 (below the one before it, so that one), 0.8·1; as R's p.adjust(…, "holm").
  const adjusted = holmAdjusted([0.01, 0.04, 0.03, 0.005, 0.8])
  const expected = [0.04, 0.09, 0.09, 0.025, 0.8]
  for (const [i, p] of adjusted.entries()) expect(p).toBeCloseTo(expected[i] ?? 0, 12)
})

it('of one hypothesis, or of none, changes nothing', () => {
  expect(holmAdjusted([0.02])).toEqual([0.02])
  expect(holmAdjusted([])).toEqual([])
})

it('refuses what is no probability', () => {
  expect(() => holmAdjusted([1.5])).toThrow(RangeError)
})

// [HOLM-1]
it('lies between the p and Bonferroni’s, at most 1, in the order of the p values', () => {
  const probability = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(fc.array(probability, { minLength: 1, maxLength: 12 }), (given) => {
      const adjusted = holmAdjusted(given)
      for (const [i, p] of given.entries()) {
        expect(adjusted[i]).toBeGreaterThanOrEqual(p)
        expect(adjusted[i]).toBeLessThanOrEqual(Math.min(1, given.length * p))
        for (const [j, other] of given.entries())
          if (p < other) expect(adjusted[i]).toBeLessThanOrEqual(adjusted[j] ?? 0)
      }
    }),
  )
})
