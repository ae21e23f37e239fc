/**
 * Reward of an episode: what the environment paid, or the penalty for not completing.
 *
 * Invariants
 * - An infrastructure failure or a cancellation never carries a reward.
 * - An episode that did not complete earns the penalty, whatever it was paid on the way.
 */
import { isRewarded, type Outcome } from './outcome.ts'

/**
 * Final reward. Source: arXiv 2510.04206 (penalty −0.2 for episodes that end without completing).
 * @param environmentReward sum of the rewards of the episode's steps
 * @param notCompletedPenalty at most 0
 * @returns null where the outcome carries no reward
 * @throws RangeError an environment's reward that is not finite
 * @example finalReward('turn_limit', 0.4, -0.2) // -0.2
 */
export function finalReward(
  outcome: Outcome,
  environmentReward: number,
  notCompletedPenalty: number,
): number | null {
  if (!isRewarded(outcome)) return null
  if (outcome !== 'completed') return notCompletedPenalty
  if (!Number.isFinite(environmentReward))
    throw new RangeError(`an episode was paid ${environmentReward}, expected a finite reward`)
  return environmentReward
}

/** Reward of a task that is solved. */
const fullReward = 1

/** Whether a final reward is that of a success: the penalty of an episode that did not complete is at most 0. */
export function isFullReward(reward: number): boolean {
  return reward >= fullReward
}

/**
 * Whether an episode counts as a success: it completed with full reward.
 * @param reward the final reward; null where the outcome carries none
 * @example isSuccess('completed', 0.5) // false
 */
export function isSuccess(outcome: Outcome, reward: number | null): boolean {
  return outcome === 'completed' && reward !== null && isFullReward(reward)
}
