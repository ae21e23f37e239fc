/**
 * What a failed call to the server means, by its gRPC status.
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
  return (
    hasCode(error, 4) ||
    hasCode(error, 1) ||
    (error instanceof Error && error.cause !== undefined && isDeadline(error.cause))
  )
}

/** Status 9: no worker has taken the workflow's first task yet. */
export function isNotReady(error: unknown): boolean {
  return hasCode(error, 9) || (error instanceof Error && error.cause !== undefined && isNotReady(error.cause))
}

/** Status 5, or what the client makes of it for a workflow: there is nothing of that name. */
export function isNotFound(error: unknown): boolean {
  return (
    error instanceof WorkflowNotFoundError ||
    hasCode(error, 5) ||
    (error instanceof Error && error.cause !== undefined && isNotFound(error.cause))
  )
}

/** Status 6: there is something of that name. */
export function isExisting(error: unknown): boolean {
  return hasCode(error, 6) || (error instanceof Error && error.cause !== undefined && isExisting(error.cause))
}

/** Status 8: a limit of the server is reached. */
export function isExhausted(error: unknown): boolean {
  return (
    hasCode(error, 8) || (error instanceof Error && error.cause !== undefined && isExhausted(error.cause))
  )
}

function hasCode(error: unknown, code: number): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code
}
