import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mergedRatios, ratioEdges, ratioStatistics, ratioSums } from './ratio-statistics.ts'

it('tokens of the policy itself have no divergence, count whole and stand in the middle of the histogram', () => {
  expect(ratioStatistics(ratioSums([0, 0, 0]))).toEqual({
    tokens: 3,
    kl: 0,
    effectiveShare: 1,
    histogram: [0, 0, 0, 0, 1, 0, 0, 0, 0],
  })
})

it('the effective share is (Σr)² by n Σr²', () => {
  // ratios 1 and 3: 4² / (2 · (1 + 9)) = 0.8; k3(0) = 0 and bounded k3(ln 3) = 0.306853 + ln 3 − ln 2 = 0.712318
  const { kl, effectiveShare, histogram } = ratioStatistics(ratioSums([0, Math.log(3)])) ?? {}
  expect(effectiveShare).toBeCloseTo(0.8, 12)
  expect(kl).toBeCloseTo(0.712318 / 2, 6)
  expect(histogram).toEqual([0, 0, 0, 0, 0.5, 0, 0, 0.5, 0])
})

it('a ratio at an edge is in the bin above it', () => {
  const { histogram } = ratioSums(ratioEdges.map(Math.log))
  expect(histogram).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1])
})

it('without a token there is nothing to say', () => {
  expect(ratioStatistics(ratioSums([]))).toBeUndefined()
})

// [RATIO-1]
it('sums of parts are the sums of the whole, and all figures are finite and within their bounds', () => {
  const logRatios = fc.array(fc.double({ min: -800, max: 800, noNaN: true }), { maxLength: 30 })
  fc.assert(
    fc.property(logRatios, logRatios, (left, right) => {
      const whole = ratioSums([...left, ...right])
      const merged = mergedRatios([ratioSums(left), ratioSums(right)])
      expect(merged.histogram).toEqual(whole.histogram)
      expect(merged.tokens).toBe(whole.tokens)
      for (const key of ['divergence', 'ratios', 'squares'] as const)
        expect(Math.abs(merged[key] - whole[key])).toBeLessThanOrEqual(1e-9 * Math.abs(whole[key]))
      const statistics = ratioStatistics(whole)
      if (statistics === undefined) return
      expect(Number.isFinite(statistics.kl)).toBe(true)
      expect(statistics.effectiveShare).toBeGreaterThan(0)
      expect(statistics.effectiveShare).toBeLessThanOrEqual(1)
      expect(statistics.histogram.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9)
    }),
  )
})
