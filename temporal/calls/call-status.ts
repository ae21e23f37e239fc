/**
 * The meaning of a failed call to the server, by its gRPC status.
 *
 * Invariants
 * - The whole chain of causes is looked at: the client wraps what the server said.
 */
import { WorkflowNotFoundError } from '@temporalio/common'

/**
 * Status 4, or 1: the deadline passed. The client ends a call that waits to be tried again as cancelled when its
 * time is over, and nothing else cancels calls.
 */
export function isDeadline(error: unknown): boolean {
  return isOf(error, 4, 1)
}

/**
 * The server was not reached or did not answer: a passed deadline, status 14, or a connection that could not be
 * made, for which neither library has a status.
 */
export function isUnreached(error: unknown): boolean {
  return isDeadline(error) || isOf(error, 14) || isUnconnected(error)
}

/** Status 9: no worker has taken the workflow's first task yet. */
export function isNotReady(error: unknown): boolean {
  return isOf(error, 9)
}

/** Status 5, or what the client makes of it for a workflow: there is nothing of that name. */
export function isNotFound(error: unknown): boolean {
  return isOf(error, 5)
}

/** Status 6: there is something of that name. */
export function isExisting(error: unknown): boolean {
  return isOf(error, 6)
}

/** Status 8: a limit of the server is reached. */
export function isExhausted(error: unknown): boolean {
  return isOf(error, 8)
}

/** The workers' library throws a class of its own; gRPC's client says that it did not become ready in time. */
function isUnconnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { name, message, cause } = error
  return (
    name === 'TransportError' || message === 'Failed to connect before the deadline' || isUnconnected(cause)
  )
}

function isOf(error: unknown, ...codes: readonly unknown[]): boolean {
  if (typeof error !== 'object' || error === null) return false
  if ('code' in error && codes.includes(error.code)) return true
  if (error instanceof WorkflowNotFoundError && codes.includes(5)) return true
  return error instanceof Error && isOf(error.cause, ...codes)
}
