/**
 * Failure: how a fault leaves an activity.
 *
 * Invariants
 * - The failure's type is the class name of the fault, so that the UI and retry policies can tell them apart.
 * - Whether trying again can help is decided where the fault is defined, by its `permanent`.
 * - No secret that this process knows of leaves it: failures are kept in histories and in the store.
 * - [REWARDED-1] An episode without a reward is refused by name: a failed machine never becomes a reward of 0.
 */
import { ApplicationFailure, TemporalFailure } from '@temporalio/common'
import { redact } from '../../config/files/secrets.ts'
import { Fault } from '../../faults/fault.ts'
import type { EpisodeId } from '../../identity/identity.ts'
import { isRewarded, type Outcome } from '../../learning/evaluation/outcome.ts'
import { isGivenUp } from './repeated-failures.ts'
import { type Activities, wrapEach } from './wrapping.ts'

/** The failure that Temporal records for a fault. @param isOver whether it was tried often enough */
export function failureOf(error: unknown, isOver = false): TemporalFailure {
  if (error instanceof TemporalFailure) return withoutSecrets(error)
  const fault = withoutSecrets(error instanceof Error ? error : new Error(String(error)))
  return ApplicationFailure.create({
    type: fault.name,
    message: fault.message,
    ...(fault instanceof Fault && { details: [{ kind: fault.kind }] }),
    nonRetryable: (fault instanceof Fault && fault.permanent) || isOver,
    cause: fault,
  })
}

/** The same error with secrets redacted in its message and those of its causes. */
function withoutSecrets<E extends Error>(error: E): E {
  error.message = redact(error.message)
  if (error.stack !== undefined) error.stack = redact(error.stack)
  if (error.cause instanceof Error) withoutSecrets(error.cause)
  return error
}

/** The same activities, with every fault turned into a failure. */
export function failing<A extends Activities>(activities: A): A {
  return wrapEach(activities, async (call) => {
    try {
      return await call()
    } catch (error) {
      throw failureOf(error, isGivenUp(error))
    }
  })
}

/** An episode whose outcome carries no reward is among those that learning compares. */
export class UnrewardedEpisode extends Fault<'unrewarded'> {
  override readonly name = 'UnrewardedEpisode'
  // A sealed outcome does not change.
  protected static override readonly permanentKinds = 'all'
}

/** @throws UnrewardedEpisode where it has none */
export function rewardOf(episode: EpisodeId, outcome: Outcome, reward: number | null): number {
  if (isRewarded(outcome) && reward !== null) return reward
  throw new UnrewardedEpisode(
    'unrewarded',
    `episode ${episode} ended with ${outcome}, which carries no reward, so it can take part in no group and no update; its sample is played again under a new attempt`,
  )
}
