/**
 * EPO: GRPO whose entropy bonus keeps each token's entropy near that of the last updates. With λ = `learning.entropyCoefficient`, H the
 * entropy at a token and H̄ the mean of the entropies of the last updates, the loss of a token is
 *   L = L_clipped − λ·(H − α·β_k·d),   d = max(0, κ_l·H̄ − H) + max(0, H − κ_r·H̄),
 * so that ∂L/∂H is −λ between the bounds, −λ·(1 + α·β_k) below and −λ·(1 − α·β_k) above them. β_k weighs the phase of the run: with p = k/K of
 * its updates done it is 1 − 0.2·(1 − e^(−4p)) in the first half, and 0.8·e^(−3·(2p − 1)) in the second. The first update has no H̄, and no d.
 * Source: arXiv 2509.22576, known here from its abstract, and the authors' code (github.com/WujiangXu/EPO): λ·(H − β_k·P), the bounds κ_l = 0.5
 * and κ_r = 1.5, and β_k. Ours: there P is a constant outside the bounds, which has no gradient; here it is the distance d. α = 2 is ours, so that
 * above the bounds entropy is lowered as strongly as it is raised between them while β_k is near 1. H̄ is one number for all turns; there each turn has
 * its own, over all updates.
 *
 * Invariants
 * - [EPO-1] Between the bounds the loss is that of GRPO with an entropy bonus.
 */
import type { EntropyBand } from '../../loss/objective.ts'
import type { Algorithm } from '../algorithm.ts'
import { grpo } from '../grpo.ts'

export const epo: Algorithm = { ...grpo, name: 'epo', smoothsEntropy: true }

/** Updates whose entropies are averaged. */
export const entropyWindow = 20

const bounds = { low: 0.5, high: 1.5 }
/** α */
const strength = 2

/**
 * The bounds of an update, and how strongly entropy is drawn to them.
 * @param entropies nats per token of the updates before it, at most `entropyWindow`
 * @param progress share of the run's updates that are done
 * @returns undefined without an update before it
 * @example entropyBand([0.2, 0.4], 0) // { low: 0.15, high: 0.45, pull: 2 }
 */
export function entropyBand(entropies: readonly number[], progress: number): EntropyBand | undefined {
  if (entropies.length === 0) return undefined
  const mean = entropies.reduce((sum, entropy) => sum + entropy, 0) / entropies.length
  return { low: bounds.low * mean, high: bounds.high * mean, pull: strength * phaseWeight(progress) }
}

/** β_k. @example phaseWeight(1) // 0.0398: 0.8·e⁻³ */
export function phaseWeight(progress: number): number {
  const done = Math.min(1, Math.max(0, progress))
  if (done <= 0.5) return 1 - 0.2 * (1 - Math.exp(-4 * done))
  return 0.8 * Math.exp(-3 * (2 * done - 1))
}
