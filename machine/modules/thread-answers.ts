/**
 * The inside of a thread that is called.
 *
 * Invariants
 * - Messages are taken between turns of the event loop; it says when it is ready for them.
 * - Every call that awaits an answer gets one; what a handler throws is answered as a fault.
 * - A handler receives a signal when its answer is not wanted any more, and may end early.
 */
import { parentPort } from 'node:worker_threads'
import {
  type Answer,
  type Call,
  type Cancellation,
  type FromThread,
  faultFields,
  type Methods,
} from './thread-calls.ts'

/** Answers one call of a method. */
export type Handlers<Thread extends Methods<Thread>> = {
  readonly [Method in keyof Thread]: (
    request: Thread[Method]['request'],
    onProgress: (progress: Thread[Method]['progress']) => void,
    signal: AbortSignal,
  ) => Thread[Method]['reply'] | Promise<Thread[Method]['reply']>
}

/** The handlers of a thread's messages, for threads whose answers do not come from one handler after another. */
export interface Hearing<Thread extends Methods<Thread>> {
  onCall(call: Call<Thread>): void
  onCancel(id: number): void
}

/** Posts the answers of a moment. */
export type Answering = (answers: readonly Answer[], transfer?: readonly ArrayBuffer[]) => void

/** Hears calls in the order in which they come. To be called once, when all is loaded. */
export function hearCalls<Thread extends Methods<Thread>>({ onCall, onCancel }: Hearing<Thread>): Answering {
  const port = parentPort
  if (port === null) throw new Error('calls are answered in a thread only')
  const post = (message: FromThread, transfer?: readonly ArrayBuffer[]) => port.postMessage(message, transfer)
  port.on('message', (message: unknown) => {
    // Other messages are for others, as the one that ends a computing thread.
    if (typeof message !== 'object' || message === null) return
    if ('cancelled' in message) onCancel((message as Cancellation).cancelled)
    else onCall(message as Call<Thread>)
  })
  post({ ready: true })
  return (answers, transfer) => post({ answers }, transfer)
}

/**
 * Answers calls one at a time, in the order in which they come.
 * @param faultOf the fault as which what a handler threw is answered
 */
export function serveCalls<Thread extends Methods<Thread>>(
  handlers: Handlers<Thread>,
  faultOf: (thrown: unknown) => unknown = (thrown) => thrown,
): void {
  let last = Promise.resolve()
  const unanswered = new Map<number, AbortController>()
  const answer = hearCalls<Thread>({
    onCall: (call) => {
      const giveUp = new AbortController()
      if (call.id !== undefined) unanswered.set(call.id, giveUp)
      last = last.then(() => perform(call, giveUp.signal))
    },
    onCancel: (id) => unanswered.get(id)?.abort(),
  })

  async function perform({ id, method, request }: Call<Thread>, signal: AbortSignal): Promise<void> {
    const post = (one: Answer) => id !== undefined && answer([one])
    const own = { id: id ?? 0 }
    const onProgress = (progress: Thread[typeof method]['progress']) => post({ ...own, progress })
    try {
      post({ ...own, reply: await handlers[method](request, onProgress, signal) })
    } catch (thrown) {
      post({ ...own, fault: faultFields(faultOf(thrown)) })
    } finally {
      unanswered.delete(own.id)
    }
  }
}
