/** A clock for tests: its time passes when the test says so. */
import { setImmediate } from 'node:timers/promises'
import type { Clock, Timer } from './clock.ts'

export interface SimulatedClock extends Clock {
  /** Lets so much time pass: what is due is called in its order, and what follows from it at once. */
  advance(ms: number): Promise<void>
}

interface Due {
  at: number
  readonly everyMs: number | undefined
  readonly call: () => void
}

/** @param start milliseconds since the epoch */
export function simulatedClock(start = 0): SimulatedClock {
  let time = 0
  const waiting = new Set<Due>()

  function timer(ms: number, call: () => void, everyMs?: number): Timer {
    const due: Due = { at: time + ms, everyMs, call }
    waiting.add(due)
    const own: Timer = { cancel: () => void waiting.delete(due), unref: () => own }
    return own
  }

  function callFirst(until: number): boolean {
    const [first] = [...waiting].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
    if (first === undefined) return false
    time = first.at
    if (first.everyMs === undefined) waiting.delete(first)
    else first.at += first.everyMs
    first.call()
    return true
  }

  return {
    now: () => start + time,
    monotonic: () => time,
    sleep: (ms, { signal } = {}) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        const waking = timer(ms, resolve)
        signal?.addEventListener('abort', () => {
          waking.cancel()
          reject(signal.reason)
        })
      }),
    after: (ms, call) => timer(ms, call),
    every: (ms, call) => timer(ms, call, ms),
    async advance(ms) {
      const until = time + ms
      await setImmediate()
      while (callFirst(until)) await setImmediate()
      time = until
    },
  }
}
