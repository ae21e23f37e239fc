/**
 * The inside of a thread that sessions share: answers requests, one after another.
 *
 * Invariants
 * - It says when it is ready, and then answers every request once, in order; what throws is answered as a fault.
 */
import { parentPort } from 'node:worker_threads'
import { reasonOf } from '../../reason.ts'

/** What a thread says. */
export type Post<Reply> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'fault'; readonly message: string }

/** Answers what the thread is asked; to be called once, when all is loaded. */
export function serve<Request, Reply>(answer: (request: Request) => Reply | Promise<Reply>): void {
  const port = parentPort
  if (port === null) throw new Error('requests are served in a thread only')
  const post = (message: Post<Reply>) => port.postMessage(message)
  port.on('message', async (request: Request) => {
    try {
      post({ kind: 'reply', reply: await answer(request) })
    } catch (error) {
      post({ kind: 'fault', message: reasonOf(error) })
    }
  })
  post({ kind: 'ready' })
}
