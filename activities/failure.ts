/**
 * Failure: how a fault leaves an activity.
 *
 * Invariants
 * - The failure's type is the class name of the fault, so that the UI and retry policies can tell them apart.
 * - Whether trying again can help is decided where the fault is defined, by its `permanent`.
 * - No secret that this process knows of leaves it: failures stand in histories and in the store.
 */
import { ApplicationFailure, TemporalFailure } from '@temporalio/common'
import { redact } from '../config/secrets.ts'
import { Fault } from '../faults/fault.ts'
import { type Activities, wrapEach } from './wrapping.ts'

/** The failure that Temporal records for a fault. */
export function failureOf(error: unknown): TemporalFailure {
  if (error instanceof TemporalFailure) return withoutSecrets(error)
  const fault = withoutSecrets(error instanceof Error ? error : new Error(String(error)))
  return ApplicationFailure.create({
    type: fault.name,
    message: fault.message,
    ...(fault instanceof Fault && { nonRetryable: fault.permanent, details: [{ kind: fault.kind }] }),
    cause: fault,
  })
}

/** The same error, its words and those of its causes redacted. */
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
      throw failureOf(error)
    }
  })
}
