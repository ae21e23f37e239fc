/**
 * The form of an API: how its requests are read and its answers, streams and errors written.
 *
 * Invariants
 * - Every form converts its requests to one type (`Asked`) and its answers from one type (`Answered`), so the policy knows none of them.
 */
import type { Answered, Asked } from '../asked.ts'
import type { Failure } from '../request-fault.ts'

export interface Form {
  readonly path: string
  /** @param text of the body, for numbers as they were written @throws RequestFault */
  read(body: unknown, text: string): Conversion
  /** The body of an error. */
  errorBody(failure: Failure): object
  /** The end of a stream that fails. */
  errorEvents(failure: Failure): string
  /** An event that says nothing, while a turn is sampled. */
  readonly keepAlive: string
}

/** A request that has been read, with the way to write its answer. */
export interface Conversion {
  readonly asked: Asked
  readonly isStreamed: boolean
  /** The body of the answer, or where it is streamed its events. */
  write(answered: Answered): string
  /** Takes note of an answer that is given in the place of one to write: what an earlier endpoint wrote for the same request. */
  recall?(written: string): void
}

/** A comment, which readers of server-sent events skip. */
export const commentEvent = ': the turn is being sampled\n\n'

/** A server-sent event. */
export function eventText(data: object | string, event?: string): string {
  const line = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${line}\n\n`
}
