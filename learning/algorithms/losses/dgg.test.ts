import { expect, it } from 'vitest'
import { dgg, surges } from './dgg.ts'

const step = {
  gradientNorm: 9,
  headNorm: 0,
  earlierNorms: [],
  pass: 1,
  loss: 0,
  kl: 0,
  referenceKl: 0,
  drift: 0,
  entropy: 1,
  clipFraction: 0,
  actionTokens: 10,
}

it('an update ends at an energy of more than a deviation above the mean of those before it', () => {
  // Energies 1 and 4: mean 2.5, deviation 1.5, so that 4 is the most.
  const earlierNorms = [1, 2]
  expect(surges({ pass: 1, headNorm: 2, earlierNorms })).toBe(false)
  expect(surges({ pass: 1, headNorm: 2.001, earlierNorms })).toBe(true)
  expect(dgg.rejects?.({ ...step, headNorm: 2.001, earlierNorms })).toBe('rest')
  expect(dgg.rejects?.({ ...step, headNorm: 2, earlierNorms })).toBe(false)
})

// [DGG-1]
it('no step of a first pass is left out, nor one with fewer than two before it', () => {
  expect(surges({ pass: 0, headNorm: 100, earlierNorms: [1, 1, 1] })).toBe(false)
  expect(surges({ pass: 1, headNorm: 100, earlierNorms: [1] })).toBe(false)
})
