import { expect, it } from 'vitest'
import { type EntropyBand, type TokenObjective, tokenLoss } from '../../loss/objective.ts'
import { entropyBand, phaseWeight } from './epo.ts'

it('the bounds are half and one and a half times the mean entropy of the updates before, and none before the first', () => {
  // (0.2 + 0.4)/2 = 0.3
  expect(entropyBand([0.2, 0.4], 0)).toEqual({
    low: expect.closeTo(0.15, 12),
    high: expect.closeTo(0.45, 12),
    pull: 2,
  })
  expect(entropyBand([], 0.5)).toBeUndefined()
})

it('the weight of the phase falls slowly in the first half of a run and fast in the second', () => {
  expect(phaseWeight(0)).toBe(1)
  // 1 − 0.2·(1 − e⁻²) = 0.8271
  expect(phaseWeight(0.5)).toBeCloseTo(0.8271, 4)
  // 0.8·e^−1.5 = 0.1785, 0.8·e⁻³ = 0.0398
  expect(phaseWeight(0.75)).toBeCloseTo(0.1785, 4)
  expect(phaseWeight(1)).toBeCloseTo(0.0398, 4)
})

// [EPO-1]
it('a token within the bounds has the entropy bonus, and outside of them the distance counts against it', () => {
  const band: EntropyBand = { low: 0.15, high: 0.45, pull: 2 }
  const objective = { clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klCoefficient: 0, entropyCoefficient: 0.1 }
  const lossAt = (entropy: number, entropyBand?: EntropyBand) => {
    const settings: TokenObjective = { ...objective, ...(entropyBand && { entropyBand }) }
    return tokenLoss({ logprob: 0, behaviourLogprob: 0, advantage: 0, entropy, isSmoothed: true }, settings)
      .loss
  }
  expect(lossAt(0.3, band)).toBe(lossAt(0.3))
  // −0.1·(0.6 − 2·0.15) and −0.1·(0.05 − 2·0.1)
  expect(lossAt(0.6, band)).toBeCloseTo(-0.03, 12)
  expect(lossAt(0.05, band)).toBeCloseTo(0.015, 12)
})
