/**
 * The result of work that a person waits for, which may be ended from outside before it has one.
 */
import { WorkflowFailedError } from '@temporalio/client'
import { SessionFault } from './session-fault.ts'

/**
 * @param what it is, as a person knows it
 * @throws SessionFault `no_result`
 */
export async function resultOf<T>(what: string, waiting: Promise<T>): Promise<T> {
  try {
    return await waiting
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error
    const message = `${what} ended without a result: ${firstReasonOf(error)}; ask for it again, and what was played of it counts`
    throw new SessionFault('no_result', message, { cause: error })
  }
}

/** What failed first. */
export function firstReasonOf(error: Error): string {
  return error.cause instanceof Error ? firstReasonOf(error.cause) : error.message
}
