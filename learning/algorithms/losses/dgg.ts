/**
 * Dynamic gradient gating: GRPO whose update ends when learning from the same episodes once more begins to do harm, which shows first as
 * a surge of the gradient of the output matrix.
 * Source: arXiv 2605.19425, known here from its abstract and summaries: the squared norm of that gradient (its energy) is compared with those
 * before it by their mean and deviation; only in a later pass; a gradient far above them never reaches the optimizer, and reuse ends. Our
 * choices: the steps before are those of this update (the paper's window may reach further back), one threshold τ = 1, the largest of
 * the paper's, and no second test of the energy's increments. With an adapter, which leaves the output matrix as it is, the
 * norm is that of the adapter's gradient.
 *
 * Invariants
 * - [DGG-1] A first pass is whole, so that each episode is learnt from once.
 */
import type { Algorithm, StepFigures } from '../algorithm.ts'
import { grpo } from '../grpo.ts'

export const dgg: Algorithm = {
  ...grpo,
  name: 'dgg',
  rejects: (step) => (surges(step) ? 'rest' : false),
}

/**
 * Whether the energy is more than one deviation above the mean of two or more before it.
 * @example surges({ pass: 1, headNorm: 3, earlierNorms: [1, 2] }) // true: 9 > 2.5 + 1.5
 */
export function surges({
  pass,
  headNorm,
  earlierNorms,
}: Pick<StepFigures, 'pass' | 'headNorm' | 'earlierNorms'>): boolean {
  if (pass === 0 || earlierNorms.length < 2) return false
  const energies = earlierNorms.map((norm) => norm ** 2)
  const mean = energies.reduce((sum, energy) => sum + energy, 0) / energies.length
  const variance = energies.reduce((sum, energy) => sum + (energy - mean) ** 2, 0) / energies.length
  return headNorm ** 2 > mean + Math.sqrt(variance)
}
