/**
 * Outcome of an episode: how it ended, and whether that ending can carry a reward.
 *
 * Invariants
 * - An infrastructure failure, a divergence or a cancellation never carries a reward.
 * - The decision whether a turn ends its episode is made here alone, however its turns are dispatched.
 */

/** All outcomes, in the order in which they are reported. */
export const outcomes = [
  'completed',
  'turn_limit',
  'context_limit',
  'invalid_action',
  'task_limit',
  'infrastructure_error',
  'diverged',
  'cancelled',
] as const

/** How an episode ended. */
export type Outcome = (typeof outcomes)[number]

/** Outcomes that say something about the policy, and so carry a reward. */
export type RewardedOutcome = Exclude<Outcome, 'infrastructure_error' | 'diverged' | 'cancelled'>

/** True for outcomes that carry a reward. */
export function isRewarded(outcome: Outcome): outcome is RewardedOutcome {
  return outcome !== 'infrastructure_error' && outcome !== 'diverged' && outcome !== 'cancelled'
}

/** The facts after a turn that decide whether the episode is over. */
export interface AfterTurn {
  /** The outcome that the environment reported. */
  readonly outcome: Outcome | null
  readonly invalidInARow: number
  readonly invalidActionLimit: number
  /** Turns played, the one before the question included. */
  readonly turns: number
  readonly turnLimit: number
}

/** How an episode has ended; null while it is in progress. The environment's word comes first. */
export function outcomeAfter(turn: AfterTurn): Outcome | null {
  if (turn.outcome !== null) return turn.outcome
  if (turn.invalidInARow >= turn.invalidActionLimit) return 'invalid_action'
  return turn.turns >= turn.turnLimit ? 'turn_limit' : null
}
