/**
 * What a process and one of its threads tell each other: calls, and answers to them.
 *
 * Invariants
 * - Every call with an id is answered once, unless it was cancelled; a call without one is never answered.
 * - Faults cross the border as plain fields.
 */
import { Fault } from '../faults/fault.ts'
import { reasonOf } from '../faults/reason.ts'

/** The methods of a thread: what each takes, gives, and reports on the way. */
export type Methods<Thread> = {
  readonly [Method in keyof Thread]: {
    readonly request: unknown
    readonly reply: unknown
    readonly progress?: unknown
  }
}

/** A call as it reaches the thread. */
export type Call<Thread extends Methods<Thread>> = {
  readonly [Method in keyof Thread]: {
    /** Absent where no answer is awaited. */
    readonly id?: number | undefined
    readonly method: Method
    readonly request: Thread[Method]['request']
  }
}[keyof Thread]

/** The answer to a call is not wanted any more. */
export interface Cancellation {
  readonly cancelled: number
}

export type Answer<Reply = unknown> =
  | { readonly id: number; readonly reply: Reply }
  | { readonly id: number; readonly fault: FaultFields }
  | { readonly id: number; readonly progress: unknown }

/** What a thread says; all answers of a moment are one message. */
export type FromThread = { readonly ready: true } | { readonly answers: readonly Answer[] }

export interface FaultFields {
  readonly name: string
  readonly kind: string
  readonly message: string
}

/** The fields of whatever was thrown. */
export function faultFields(thrown: unknown): FaultFields {
  const { name, kind } = thrown instanceof Fault ? thrown : { name: 'Error', kind: '' }
  return { name, kind, message: reasonOf(thrown) }
}
