/**
 * Entropy target: the coefficient of the entropy bonus follows the distance of the entropy to a target, from update to update.
 *   c_k = clip(c_{k−1} + δ·clip((H* − H_{k−1}) / H*, −1, 1), 0, c_max)
 * with the target H* = `learning.entropyTarget`, the entropy H of the update before, δ = `learning.entropyStep` and c_max = `learning.entropyMost`.
 * Source: the adaptive entropy control of Skywork-OR1, arXiv 2505.22312 (its code moves c by ±δ within 0 and c_max, and leaves the bonus
 * out above the target), and the proportional rule of SAC, arXiv 1812.05905. Ours: near the target c moves in proportion, far from it by δ, and the
 * bonus ends where c reaches 0.
 *
 * Invariants
 * - [ENTROPY-TARGET-1] The coefficient follows from the stored figures of the update before, so that an update that is done again has the same.
 */

/** Names as in the configuration. */
export interface EntropyTarget {
  /** Nats per token. */
  readonly entropyTarget: number
  /** Largest change of the coefficient from one update to the next. */
  readonly entropyStep: number
  /** Largest coefficient. */
  readonly entropyMost: number
  /** Coefficient of the first update. */
  readonly entropyCoefficient: number
}

/** The entropy that an update has found, and its coefficient. */
export interface EntropyRecord {
  readonly entropy: number
  readonly coefficient: number
}

/**
 * The coefficient of an update.
 * @param before the update before it; undefined for the first
 * @example entropyCoefficientAt({ entropy: 0.2, coefficient: 0.01 },
 *   { entropyTarget: 0.4, entropyStep: 0.002, entropyMost: 0.05, entropyCoefficient: 0 }) // 0.011
 */
export function entropyCoefficientAt(
  before: EntropyRecord | undefined,
  { entropyTarget, entropyStep, entropyMost, entropyCoefficient }: EntropyTarget,
): number {
  const distance = before === undefined ? 0 : (entropyTarget - before.entropy) / entropyTarget
  const moved =
    (before?.coefficient ?? entropyCoefficient) + entropyStep * Math.min(1, Math.max(-1, distance))
  return Math.min(entropyMost, Math.max(0, moved))
}
