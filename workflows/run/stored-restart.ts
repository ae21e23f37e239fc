/**
 * Restart from the store: a run whose store is older or newer than its workflow continues from the store. The workflow may know of
 * work that the store lacks, or may have decided otherwise before a power cut took the last second of its history.
 *
 * Invariants
 * - [STORED-RESTART-1] The state of the execution is dropped as a whole, so that none of it reaches the store: work that the store
 *   lacks is played and trained again, under the same identities.
 * - [STORED-RESTART-2] A run that restarts again and again for the same version waits for a person.
 * - [STORED-RESTART-3] An order is in the trail from which the run continues, or it is refused and its sender gives it again: none is
 *   accepted and then forgotten.
 */

import { ApplicationFailure, allHandlersFinished, condition, log } from '@temporalio/workflow'
import type { AuditEntry } from '../../activities/run.ts'
import { runRestarts } from '../../contract/messages.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { endWork } from '../calls/child-watch.ts'
import { auditActivities, runActivities } from '../calls/dispatch.ts'
import { reasonOf } from '../calls/failure-reason.ts'
import { relaunchedState, stateToRestartFrom, storedState } from '../state/run-state.ts'
import { continueAsNew } from './continuation.ts'

/** A cause that comes back more often within an hour does not pass by itself. */
const mostRestarts = 3
const withinMs = 3_600_000

/** States that an execution has given up. */
const givenUp = new WeakSet<TrainingState>()

/** True when the run is about to continue from the store, so that nothing more is done to its state. */
function isGivenUp(state: TrainingState): boolean {
  return givenUp.has(state)
}

/** Ends the work that follows from a state that the store contradicts. */
export function giveUpState(state: TrainingState, error: unknown): void {
  givenUp.add(state)
  endWork(state, error)
}

/** Does work that a message asks for, unless the state is given up. */
export async function unlessGivenUp(state: TrainingState, work: () => Promise<void>): Promise<void> {
  if (isGivenUp(state)) return
  try {
    await work()
  } catch (error) {
    if (!isGivenUp(state)) throw error
  }
}

/** @throws ApplicationFailure, after which the order is given again */
export function refuseWhenGivenUp(state: TrainingState): void {
  if (isGivenUp(state))
    throw ApplicationFailure.nonRetryable(
      `run ${state.run} is about to continue from what the store has; give the order again`,
      runRestarts,
    )
}

/** True when the run has not advanced since its last restarts. @param now milliseconds since the epoch */
export function hasRestartedTooOften(
  trail: readonly AuditEntry[],
  { version, now }: { readonly version: number; readonly now: number },
): boolean {
  const restarts = trail.filter(({ what, time }) => what === 'restart' && time > now - withinMs)
  return restarts.filter((each) => each.version === version).length >= mostRestarts
}

/** Continues in a new execution; never returns. */
export async function restartFromStore(given: TrainingState, error: unknown): Promise<never> {
  const { run } = given
  givenUp.add(given)
  // An order that is being recorded is in the trail before the trail is read, and no other follows.
  await condition(allHandlersFinished)
  const { course, trail } = await runActivities.discardUnknownWork({ run })
  const stored = stateToRestartFrom(storedState(course), course.config, trail)
  const now = Date.now()
  const reason = reasonOf(error)
  const relaunch = { reason, paused: hasRestartedTooOften(trail, { version: stored.version, now }) }
  log.warn('the run continues from what the store has', { run, reason, version: stored.version })
  const { state, entries } = relaunchedState(stored, relaunch, now)
  await auditActivities.recordOrders({ run, entries })
  await condition(allHandlersFinished)
  return await continueAsNew(state)
}
