/**
 * Replay: groups of the last updates that an update learns from once more, with the log-probabilities of who sampled them.
 *
 * Invariants
 * - [REPLAY-1] No group is replayed later than `maxAge` updates after the one that consumed it, and none in that one.
 * - [REPLAY-2] Replayed groups are at most `share · B`, drawn by the run's seed: an update that is repeated replays the same.
 */
import { shuffled } from './shuffled.ts'

/** How much is replayed; names as in the configuration. */
export interface ReplayRules {
  /** Groups replayed in an update at most, as a multiple of B; 0: none. */
  readonly share: number
  /** Updates that a replayed group's own update lies behind at most. */
  readonly maxAge: number
  /** The weight of a token of a replayed group in the loss, beside 1 for one that was played for the update. */
  readonly weight: number
}

/** Updates whose groups may be read once more, the oldest first. @example earlierSteps(5, { maxAge: 2 }) // [3, 4] */
export function earlierSteps(step: number, { maxAge }: Pick<ReplayRules, 'maxAge'>): number[] {
  const oldest = Math.max(1, step - maxAge)
  return Array.from({ length: step - oldest }, (_, age) => oldest + age)
}

/** Draws the groups that are replayed, in the order in which they are given. @param next uniforms in [0, 1) */
export function drawnReplays<Group>(
  groups: readonly Group[],
  { groupsPerUpdate, share }: Pick<ReplayRules, 'share'> & { readonly groupsPerUpdate: number },
  next: () => number,
): Group[] {
  const drawn = new Set(shuffled([...groups.keys()], next).slice(0, Math.floor(groupsPerUpdate * share)))
  return groups.filter((_, index) => drawn.has(index))
}
