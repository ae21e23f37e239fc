/**
 * Calls to a thread of this process, as the caller sees them; `thread-answers.ts` is the inside of the thread.
 *
 * Invariants
 * - A call is answered once: with its reply, with the fault that the thread threw as its class, or with the loss of the
 *   thread. After a loss every call fails in the same way.
 * - A call that is aborted fails at once with the reason, and the thread receives the cancellation.
 * - A thread with calls to answer keeps the process alive, an idle one does not.
 * - Arrays are transferred where the caller says so, never copied.
 * - A call without an id is never answered. Faults cross the border as plain fields.
 */
import type { Worker } from 'node:worker_threads'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'

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

/** A message of a thread; all answers of a moment are one message. */
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

/** The thread threw an error of a class that its caller does not know. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
}

/** How a thread was lost: it threw, or it ended by itself. */
export type ThreadLoss = { readonly cause: Error } | { readonly exitCode: number }

export interface ThreadCallsOptions {
  /** Classes of faults that the thread throws. */
  readonly faults?: readonly (new (
    kind: never,
    message: string,
  ) => Fault)[]
  /** It has loaded its module and answers now. */
  onReady?(): void
  /** The thread is lost. @returns the fault of the calls that it has not answered */
  onLoss(loss: ThreadLoss): Error
}

export interface CallOptions<Progress> {
  readonly transfer?: readonly ArrayBuffer[]
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

interface Pending {
  readonly resolve: (reply: never) => void
  readonly reject: (fault: Error) => void
  readonly onProgress: ((progress: never) => void) | undefined
}

export class ThreadCalls<Thread extends Methods<Thread>> {
  readonly #worker: Worker
  readonly #options: ThreadCallsOptions
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #loss: Error | undefined

  constructor(worker: Worker, options: ThreadCallsOptions) {
    this.#worker = worker
    this.#options = options
    worker.on('message', (message: FromThread) => this.#hear(message))
    worker.on('error', (cause: Error) => this.#lose({ cause }))
    worker.on('messageerror', (cause) => this.#lose({ cause }))
    worker.on('exit', (exitCode) => this.#lose({ exitCode }))
    worker.unref()
  }

  /** Whether no call is answered any more. */
  get isLost(): boolean {
    return this.#loss !== undefined
  }

  /** Asks, and waits for the answer. @throws the fault of the thread, of its loss, or the reason of the signal */
  call<Method extends keyof Thread>(
    method: Method,
    request: Thread[Method]['request'],
    { transfer, signal, onProgress }: CallOptions<Thread[Method]['progress']> = {},
  ): Promise<Thread[Method]['reply']> {
    if (this.#loss !== undefined) return Promise.reject(this.#loss)
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      const abort = (): void => {
        this.#forget(id)
        this.#worker.postMessage({ cancelled: id } satisfies Cancellation)
        reject(signal?.reason)
      }
      const done = (): void => signal?.removeEventListener('abort', abort)
      this.#pending.set(id, {
        onProgress,
        resolve: (reply) => {
          done()
          resolve(reply)
        },
        reject: (fault) => {
          done()
          reject(fault)
        },
      })
      if (this.#pending.size === 1) this.#worker.ref()
      signal?.addEventListener('abort', abort, { once: true })
      this.#worker.postMessage({ id, method, request } satisfies Call<Thread>, transfer)
    })
  }

  /** Says something that has no answer; a thread that is lost does not hear it. */
  tell<Method extends keyof Thread>(method: Method, request: Thread[Method]['request']): void {
    if (this.#loss === undefined) this.#worker.postMessage({ method, request } satisfies Call<Thread>)
  }

  /** Fails all that is not answered, and all calls from now on; the caller ends the thread. */
  fail(fault: Error): void {
    if (this.#loss !== undefined) return
    this.#loss = fault
    const owed = [...this.#pending.values()]
    this.#pending.clear()
    this.#worker.unref()
    for (const { reject } of owed) reject(fault)
  }

  #lose(loss: ThreadLoss): void {
    if (this.#loss === undefined) this.fail(this.#options.onLoss(loss))
  }

  #hear(message: FromThread): void {
    if (this.#loss !== undefined) return
    if ('ready' in message) this.#options.onReady?.()
    else for (const answer of message.answers) this.#settle(answer)
  }

  #settle(answer: Answer): void {
    const call = this.#pending.get(answer.id)
    if (call === undefined) return // cancelled meanwhile
    if ('progress' in answer) {
      call.onProgress?.(answer.progress as never)
      return
    }
    this.#forget(answer.id)
    if ('fault' in answer) call.reject(this.#faultOf(answer.fault))
    else call.resolve(answer.reply as never)
  }

  #forget(id: number): void {
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#worker.unref()
  }

  #faultOf({ name, kind, message }: FaultFields): Error {
    const Class = this.#options.faults?.find((known) => known.name === name)
    return Class === undefined ? new CallFailed(message) : new Class(kind as never, message)
  }
}
