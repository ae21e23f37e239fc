/**
 * Losses of episodes by their environment's own code, as distinguished from machines and servers that come back.
 *
 * Invariants
 * - Pure: the same failure gives the same loss.
 */
import { ActivityFailure, ApplicationFailure } from '@temporalio/common'
import { clipped, shortTextBytes } from '../learning/run/state-bounds.ts'

/** Why an episode has no result, where the instance or the environment is to blame. */
export interface EpisodeLoss {
  readonly reason: string
}

/** Kinds of an `EnvironmentFault` that no waiting repairs. */
const ownDoing: ReadonlySet<string> = new Set(['failed', 'no_answer', 'bad_data', 'unknown_instance'])

/** @returns undefined where something else failed */
export function lossOf(failure: unknown): EpisodeLoss | undefined {
  // A local activity fails with the fault itself, a remote one with a failure around it.
  const cause = failure instanceof ActivityFailure ? failure.cause : failure
  if (!(cause instanceof ApplicationFailure) || cause.type !== 'EnvironmentFault') return undefined
  const [detail] = cause.details ?? []
  const isOwn =
    typeof detail === 'object' && detail !== null && 'kind' in detail && ownDoing.has(String(detail.kind))
  return isOwn ? { reason: clipped(cause.message, shortTextBytes) } : undefined
}
