/**
 * Outcome of an episode: how it ended, and whether that ending can carry a reward.
 *
 * Invariants
 * - An infrastructure failure or a cancellation never carries a reward.
 */

/** All outcomes, in the order in which they are reported. */
export const outcomes = [
  'completed',
  'turn_limit',
  'context_limit',
  'invalid_action',
  'task_limit',
  'infrastructure_error',
  'cancelled',
] as const

/** How an episode ended. */
export type Outcome = (typeof outcomes)[number]

/** Outcomes that say something about the policy, and so carry a reward. */
export type RewardedOutcome = Exclude<Outcome, 'infrastructure_error' | 'cancelled'>

/** True for outcomes that carry a reward. */
export function isRewarded(outcome: Outcome): outcome is RewardedOutcome {
  return outcome !== 'infrastructure_error' && outcome !== 'cancelled'
}
