/**
 * AdamW (arXiv 1711.05101), in place.
 *
 * Invariants
 * - Weight decay acts on matrices only, never on norms.
 * - The gradient's norm is taken over all weights together, in double precision and a fixed order.
 */
import type { OptimizerSettings } from '../trainer.ts'

/** The Euclidean norm over all gradients, from the sum of squares of each, in order. */
export function normOf(sums: Iterable<number>): number {
  let total = 0
  for (const sum of sums) total += sum
  return Math.sqrt(total)
}

/** Sum of squares, finite where all elements are. */
export function squares(gradient: Float32Array): number {
  let sum = 0
  for (let i = 0; i < gradient.length; i++) {
    const g = gradient[i]!
    sum += g * g
  }
  return sum
}

/** One weight with what the optimizer keeps for it; all arrays have the same length. */
export interface OptimizedWeight {
  readonly weight: Float32Array
  readonly gradient: Float32Array
  readonly first: Float32Array
  readonly second: Float32Array
  readonly isMatrix: boolean
}

/**
 * m ← β₁ m + (1 − β₁) g; v ← β₂ v + (1 − β₂) g²; w ← (1 − η λ) w − η m̂ / (√v̂ + ε), with
 * m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ) and g = scale · gradient.
 * @param step t, the first is 1
 * @param scale factor of the gradient, below 1 where its norm is clipped
 */
export function adamwStep(
  { weight, gradient, first, second, isMatrix }: OptimizedWeight,
  settings: OptimizerSettings,
  learningRate: number,
  step: number,
  scale: number,
): void {
  const { beta1, beta2, epsilon } = settings
  const keep = isMatrix ? 1 - learningRate * settings.weightDecay : 1
  const rate = learningRate / (1 - beta1 ** step)
  const secondCorrection = 1 / (1 - beta2 ** step)
  const share1 = 1 - beta1
  const share2 = 1 - beta2
  for (let i = 0; i < weight.length; i++) {
    const g = gradient[i]! * scale
    const m = beta1 * first[i]! + share1 * g
    const v = beta2 * second[i]! + share2 * g * g
    first[i] = m
    second[i] = v
    weight[i] = keep * weight[i]! - (rate * m) / (Math.sqrt(v * secondCorrection) + epsilon)
  }
}
