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

/** Kinds of faults that no waiting repairs. */
const ownDoing: Readonly<Record<string, ReadonlySet<string>>> = {
  EnvironmentFault: new Set(['failed', 'no_answer', 'bad_data', 'unknown_instance']),
  AgentFault: new Set([
    'crashed',
    'silent',
    'flood',
    'forks',
    'body_limit',
    'no_turns',
    'no_reward',
    'bad_reward',
  ]),
}

/** @returns undefined where something else failed */
export function lossOf(failure: unknown): EpisodeLoss | undefined {
  // A local activity fails with the fault itself, a remote one with a failure around it.
  const cause = failure instanceof ActivityFailure ? failure.cause : failure
  if (!(cause instanceof ApplicationFailure)) return undefined
  const isOwn = ownDoing[cause.type ?? '']?.has(faultKindOf(cause) ?? '') === true
  return isOwn ? { reason: clipped(cause.message, shortTextBytes) } : undefined
}

/** Whether an agent's own program asked for something else, after a restart, than it had asked for before. */
export function isDivergence(failure: unknown): boolean {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure
  return (
    cause instanceof ApplicationFailure && cause.type === 'AgentFault' && faultKindOf(cause) === 'diverged'
  )
}

/** The `kind` of the fault that an activity failed with. */
function faultKindOf({ details }: ApplicationFailure): string | undefined {
  const [detail] = details ?? []
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? String(detail.kind) : undefined
}
