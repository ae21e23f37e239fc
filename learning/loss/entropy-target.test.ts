import { expect, it } from 'vitest'
import { entropyCoefficientAt } from './entropy-target.ts'

const target = { entropyTarget: 0.4, entropyStep: 0.002, entropyMost: 0.05, entropyCoefficient: 0 }

it('the coefficient rises below the target and falls above it, in proportion to the distance and by a step at most', () => {
  // 0.01 + 0.002·(0.4 − 0.2)/0.4 = 0.011, and 0.01 + 0.002·(0.4 − 0.5)/0.4 = 0.0095
  expect(entropyCoefficientAt({ entropy: 0.2, coefficient: 0.01 }, target)).toBeCloseTo(0.011, 12)
  expect(entropyCoefficientAt({ entropy: 0.5, coefficient: 0.01 }, target)).toBeCloseTo(0.0095, 12)
  expect(entropyCoefficientAt({ entropy: 2, coefficient: 0.01 }, target)).toBeCloseTo(0.008, 12)
  expect(entropyCoefficientAt({ entropy: 0.4, coefficient: 0.01 }, target)).toBe(0.01)
})

it('the coefficient stays within its bounds, and the first update has the configured one', () => {
  expect(entropyCoefficientAt({ entropy: 2, coefficient: 0.001 }, target)).toBe(0)
  expect(entropyCoefficientAt({ entropy: 0, coefficient: 0.0499 }, target)).toBe(0.05)
  expect(entropyCoefficientAt(undefined, { ...target, entropyCoefficient: 0.03 })).toBe(0.03)
  expect(entropyCoefficientAt(undefined, { ...target, entropyCoefficient: 0.3 })).toBe(0.05)
})
