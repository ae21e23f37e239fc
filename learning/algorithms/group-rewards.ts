/**
 * The rewards of a group: how much better an episode was than its siblings of the same instance.
 *
 * Invariants
 * - [GROUP-REWARDS-1] A group with equal rewards gets advantages of exactly zero.
 * - [GROUP-REWARDS-2] The group's advantages sum to zero, and keep the order of the rewards.
 */

import { fullReward, isSuccess } from '../evaluation/reward.ts'
import type { AdvantageSettings, Algorithm } from './algorithm.ts'

/** Keeps the quotient finite where rewards barely differ; the published value. */
export const deviationFloor = 1e-6

/**
 * Advantages by what a comparison says of the rewards of each group.
 * @param compare [group] finite rewards, at least two, not all equal, to [group] advantages whose sum is 0
 * @example byReward(centredRewards) // the advantages of Dr. GRPO
 */
export function byReward(
  compare: (rewards: readonly number[]) => readonly number[],
): Algorithm['advantagesOf'] {
  return (groups) =>
    groups.map(({ episodes }) => {
      const rewards = episodes.map(({ reward }) => reward)
      return hasPreference(rewards) ? compare(rewards) : rewards.map(() => 0)
    })
}

/**
 * Advantages of things that have a reward alone, as an algorithm compares the episodes of a group.
 * @param rewards [group] finite, at least two
 * @returns [group], same order
 * @throws RangeError fewer than two rewards, one not finite, or an advantage that is no number
 * @example groupAdvantages([0, 1], grpo) // ≈ [-0.7071, 0.7071]
 */
export function groupAdvantages(
  rewards: readonly number[],
  { advantagesOf }: Pick<Algorithm, 'advantagesOf'>,
  settings: AdvantageSettings = { discount: 1 },
): readonly number[] {
  checkRewards(rewards)
  const rest = { completed: true, keepsPay: true, actionTokens: 0, turns: [] }
  const episodes = rewards.map((reward) => ({
    ...rest,
    reward,
    success: isSuccess(reward, { atLeast: fullReward }),
  }))
  const [advantages = []] = advantagesOf([{ task: '', episodes }], settings)
  return advantages.map((advantage) => {
    if (typeof advantage === 'number') return advantage
    throw new RangeError('a list of advantages, expected one number where rewards alone are compared')
  })
}

/** @throws RangeError fewer than two rewards, or one not finite */
export function checkRewards(rewards: readonly number[]): void {
  if (rewards.length < 2) throw new RangeError(`a group has ${rewards.length} rewards, expected at least 2`)
  for (const reward of rewards)
    if (!Number.isFinite(reward))
      throw new RangeError(`a group has the reward ${reward}, expected a finite one`)
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
