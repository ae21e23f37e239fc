/**
 * Waiting for a server that loads, or that was lost and comes back.
 *
 * Invariants
 * - It is waited for no longer than the caller's patience, and from time to time it is said what is waited for.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { EngineFault } from '../engines/engine.ts'
import { callServer } from './server-call.ts'

/** Twice a second a server that loads is asked whether it is ready. */
const pollMs = 500
/** A server answers whether it is ready at once, or it is not. */
const answerMs = 10_000
/** Loading tens of gigabytes from a network disk, or restarting after a crash. */
const usualPatienceMs = 10 * 60_000
/** How often it is said what is waited for. */
const wordsMs = 30_000
/** The most bytes of the rest of its answer. */
const answerBytes = 2 ** 20

/** How a server is waited for. */
export interface Patience {
  readonly apiKey: string | undefined
  readonly log: (line: string) => void
  /** Milliseconds; absent: ten minutes. */
  readonly patienceMs?: number | undefined
  readonly signal: AbortSignal
}

/**
 * Waits until a server answers its path with status 200.
 * @throws EngineFault what it said last; the reason of the signal where it aborts
 */
export async function untilReady(
  { url, path, name }: { readonly url: string; readonly path: string; readonly name: string },
  { apiKey, log, patienceMs = usualPatienceMs, signal }: Patience,
): Promise<void> {
  const until = performance.now() + patienceMs
  let words = performance.now() + wordsMs
  for (;;) {
    try {
      await callServer({ url, path }, { apiKey, signal, answerMs, answerBytes })
      return
    } catch (fault) {
      signal.throwIfAborted()
      const isUp = fault instanceof EngineFault && fault.kind === 'wrong_answer'
      if (isUp) return // it says that it is ready in words of its own
      if (!(fault instanceof EngineFault) || fault.permanent || performance.now() > until) throw fault
      if (performance.now() > words) {
        log(`waiting for ${name}: ${fault.message}`)
        words += wordsMs
      }
    }
    await delay(pollMs, undefined, { signal })
  }
}
