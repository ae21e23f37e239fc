/**
 * An answer as a stream of server-sent events.
 *
 * Invariants
 * - [ANSWER-STREAM-1] Its first byte comes within `patience`, and others while the turn is sampled, so no reader takes it for lost.
 * - [ANSWER-STREAM-2] A failure within `patience` is an error with its status; a later one ends the stream in the shape of its form.
 */
import { clock } from '../../machine/services/clock.ts'
import type { Form } from './forms/form.ts'
import { failureOf } from './request-fault.ts'

/** Milliseconds: readers may want the first byte within a second. */
const patience = 500
/** Milliseconds between events that say nothing; proxies give up after some 30 seconds. */
const silence = 3000

/** @param answer all events of the stream @throws what the answer throws within `patience` */
export async function streamOf(form: Form, answer: Promise<string>): Promise<Response> {
  const late = Promise.withResolvers<undefined>()
  const timer = clock.after(patience, () => late.resolve(undefined))
  const early = await Promise.race([answer, late.promise]).finally(() => timer.cancel())
  const body = early ?? eventsOf(form, answer)
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
  })
}

function eventsOf({ keepAlive, errorEvents }: Form, answer: Promise<string>): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder()
  let stop = (): void => undefined
  return new ReadableStream({
    start(controller) {
      const say = (text: string): void => controller.enqueue(bytes.encode(text))
      say(keepAlive)
      const timer = clock.every(silence, () => say(keepAlive))
      let isOver = false
      stop = () => {
        isOver = true
        timer.cancel()
      }
      const end = (text: string): void => {
        if (isOver) return
        stop()
        say(text)
        controller.close()
      }
      answer.then(end, (error) => end(errorEvents(failureOf(error))))
    },
    cancel: () => stop(),
  })
}
