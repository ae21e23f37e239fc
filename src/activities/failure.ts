/**
 * Failure: how a fault leaves an activity.
 *
 * Invariants
 * - The failure's type is the class name of the fault, so that the UI and retry policies can tell them apart.
 * - Whether trying again can help is decided where the fault is defined, by its `permanent`.
 */
import { ApplicationFailure, TemporalFailure } from '@temporalio/common'
import { type Activities, wrapEach } from './wrapping.ts'

/** The failure that Temporal records for a fault. */
export function failureOf(error: unknown): TemporalFailure {
  if (error instanceof TemporalFailure) return error
  const fault = error instanceof Error ? error : new Error(String(error))
  return ApplicationFailure.create({
    type: fault.name,
    message: fault.message,
    nonRetryable: 'permanent' in fault && fault.permanent === true,
    details: 'kind' in fault ? [{ kind: fault.kind }] : [],
    cause: fault,
  })
}

/** The same activities, with every fault turned into a failure. */
export function failing<A extends Activities>(activities: A): A {
  return wrapEach(activities, async (call) => {
    try {
      return await call()
    } catch (error) {
      throw failureOf(error)
    }
  })
}

/**
 * The same activities, which refuse to start once the worker stops. An episode goes from turn to turn within
 * one workflow task; the delay, longer than `localRetryThreshold`, turns its next turn into a timer, so that
 * the task ends here and the turn is played by the next worker.
 */
export function untilStopping<A extends Activities>(stopping: AbortSignal, activities: A): A {
  return wrapEach(activities, async (call) => {
    if (stopping.aborted)
      throw ApplicationFailure.create({
        type: 'WorkerStopping',
        message: 'this worker is stopping; the next one goes on',
        nextRetryDelay: '2 seconds',
      })
    return call()
  })
}
