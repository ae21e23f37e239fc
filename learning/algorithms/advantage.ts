/**
 * Group advantage: how much better an episode was than its siblings of the same instance.
 *
 * Invariants
 * - [ADVANTAGE-1] A group with equal rewards gets advantages of exactly zero.
 * - [ADVANTAGE-2] The group's advantages sum to zero, and keep the order of the rewards.
 * - [ADVANTAGE-3] Weighing negative advantages changes no sign and no positive advantage.
 */

/** Estimators of the group advantage. */
export const advantageEstimators = ['grpo', 'dr_grpo', 'rloo', 'reinforce_pp'] as const
export type AdvantageEstimator = (typeof advantageEstimators)[number]

/** Any other name is that of a custom module (`custom-advantage.ts`). */
export function isAdvantageEstimator(name: string): name is AdvantageEstimator {
  return (advantageEstimators as readonly string[]).includes(name)
}

/** Keeps the quotient finite where rewards barely differ; the published value. */
export const deviationFloor = 1e-6

/**
 * Advantage of each episode of a group, given to every action token of the episode.
 *
 * With mean m and unbiased standard deviation s over the G rewards:
 * - `grpo`: (R − m) / (s + 1e-6). Source: arXiv 2402.03300, as used by arXiv 2510.04206.
 * - `dr_grpo`: R − m. Source: arXiv 2503.20783.
 * - `rloo`: R − mean of the other rewards = (R − m) · G / (G − 1). Source: arXiv 2402.14740.
 * - `reinforce_pp`: R − m; the batch is normalized as a whole later, see `planBatch`.
 *   Source: arXiv 2501.03262, the variant with the group mean as baseline.
 *
 * @param rewards [group] finite, at least two
 * @returns [group], same order; all zero when the rewards are equal
 * @throws RangeError fewer than two rewards, or one not finite
 * @example groupAdvantages([0, 1], 'grpo') // ≈ [-0.7071, 0.7071]
 */
export function groupAdvantages(rewards: readonly number[], estimator: AdvantageEstimator): number[] {
  const size = rewards.length
  if (size < 2) throw new RangeError(`a group has ${size} rewards, expected at least 2`)
  for (const reward of rewards)
    if (!Number.isFinite(reward))
      throw new RangeError(`a group has the reward ${reward}, expected a finite one`)
  if (!hasPreference(rewards)) return rewards.map(() => 0)

  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / size
  const centred = rewards.map((reward) => reward - mean)
  const scale: Record<AdvantageEstimator, () => number> = {
    grpo: () => 1 / (unbiasedDeviation(centred) + deviationFloor),
    dr_grpo: () => 1,
    rloo: () => size / (size - 1),
    reinforce_pp: () => 1,
  }
  const factor = scale[estimator]()
  return centred.map((value) => value * factor)
}

/**
 * Reduces negative advantages: pushing away from an action spreads its probability over all others, most of which are worse in a
 * policy that knows little, while pushing towards one says what to do.
 * Source: the two parts of the policy gradient of arXiv 2506.01347, weighed apart.
 * @param weight of negative advantages beside 1 for positive ones; 1: as they are
 * @example weighNegative([-2, 3], 0.5) // [-1, 3]
 */
export function weighNegative(advantages: readonly number[], weight: number): readonly number[] {
  return weight === 1
    ? advantages
    : advantages.map((advantage) => (advantage < 0 ? weight * advantage : advantage))
}

/** True when the rewards differ, so that the group says which episode was better. */
export function hasPreference(rewards: readonly number[]): boolean {
  return rewards.some((reward) => reward !== rewards[0])
}

function unbiasedDeviation(centred: readonly number[]): number {
  const squares = centred.reduce((sum, value) => sum + value * value, 0)
  return Math.sqrt(squares / (centred.length - 1))
}
