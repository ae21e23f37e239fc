/**
 * The rewards of a group: how much better an episode was than its siblings of the same instance.
 *
 * Invariants
 * - [GROUP-REWARDS-1] A group with equal rewards gets advantages of exactly zero.
 * - [GROUP-REWARDS-2] The group's advantages sum to zero, and keep the order of the rewards.
 */

/** Compares the episodes of a group (`Algorithm`). @param rewards [group] @returns [group] */
type Comparison = (rewards: readonly number[]) => readonly number[]

/** Keeps the quotient finite where rewards barely differ; the published value. */
export const deviationFloor = 1e-6

/**
 * Advantage of each episode of a group by an algorithm, given to every action token of the episode.
 * @param rewards [group] finite, at least two
 * @returns [group], same order; all zero when the rewards are equal
 * @throws RangeError fewer than two rewards, or one not finite
 * @example groupAdvantages([0, 1], grpo) // ≈ [-0.7071, 0.7071]
 */
export function groupAdvantages(
  rewards: readonly number[],
  { advantagesOf }: { readonly advantagesOf: Comparison },
): readonly number[] {
  if (rewards.length < 2) throw new RangeError(`a group has ${rewards.length} rewards, expected at least 2`)
  for (const reward of rewards)
    if (!Number.isFinite(reward))
      throw new RangeError(`a group has the reward ${reward}, expected a finite one`)
  return hasPreference(rewards) ? advantagesOf(rewards) : rewards.map(() => 0)
}

/** True when the rewards differ, so that the group says which episode was better. */
export function hasPreference(rewards: readonly number[]): boolean {
  return rewards.some((reward) => reward !== rewards[0])
}

/** Rewards minus their mean. @param rewards [group] @returns [group] */
export function centredRewards(rewards: readonly number[]): readonly number[] {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
  return rewards.map((reward) => reward - mean)
}

/** √(Σ x² / (G − 1)). @param centred [group] values whose mean is 0 */
export function unbiasedDeviation(centred: readonly number[]): number {
  const squares = centred.reduce((sum, value) => sum + value * value, 0)
  return Math.sqrt(squares / (centred.length - 1))
}
