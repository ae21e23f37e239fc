/**
 * Health of a Temporal server: whether it answers, by a call that is made over and over.
 *
 * Invariants
 * - A server that accepts connections and answers no call is not healthy.
 * - Silence counts only while this process runs: after it was stopped itself, as on a laptop that slept, it counts from zero.
 * - Silence is reported once when it begins and once when it ends.
 */
import { Connection, type ConnectionOptions } from '@temporalio/client'
import { clock, grpcDeadline } from '../../machine/services/clock.ts'

/** From then on it is reported; a busy machine answers sooner. */
export const silentAfterMs = 5_000
/** An embedded server that is silent for so long is started again. */
export const hungAfterMs = 30_000

const tickMs = 500
const askEveryMs = 1_000
/** A connection that has given no answer for so long is replaced by a new one. */
const callDeadlineMs = 10_000
/** Timers are late by a second or two on a busy machine; by more, the process was stopped. */
const stoodStillMs = 5_000

export interface SilenceMeter {
  /** Called often, whatever the server does. @param now milliseconds of a clock that only grows */
  tick(now: number): void
  answered(): void
  /** Milliseconds without an answer. */
  silentMs(): number
}

/** Adds up the time without an answer. */
export function createSilenceMeter(): SilenceMeter {
  let last: number | undefined
  let silent = 0
  return {
    tick(now) {
      const passed = last === undefined ? 0 : now - last
      last = now
      silent = passed < 0 || passed > stoodStillMs ? 0 : silent + passed
    },
    answered() {
      silent = 0
    },
    silentMs: () => silent,
  }
}

export interface Health {
  /** Milliseconds without an answer, in which this process ran. */
  silentMs(): number
  /** Whether it has answered since the watch began. */
  hasAnswered(): boolean
  close(): Promise<void>
}

export interface HealthOptions {
  readonly log?: (line: string) => void
  /** Added to the report of a silence: what will be done about it. */
  readonly remedy?: string
}

/** Asks a server until it is closed. */
export function watchHealth(options: ConnectionOptions, { log, remedy }: HealthOptions = {}): Health {
  const closing = new AbortController()
  const { signal } = closing
  const meter = createSilenceMeter()
  let connection: Connection | undefined
  let hasAnswered = false
  let isTold = false

  const ticking = clock.every(tickMs, () => {
    meter.tick(clock.monotonic())
    if (isTold || meter.silentMs() < silentAfterMs) return
    isTold = true
    log?.(`${silenceWords(meter.silentMs(), remedy)}.`)
  })
  ticking.unref()

  async function ask(): Promise<void> {
    // Without the client's own retries, which continue after the connection is closed.
    connection ??= Connection.lazy({ ...options, connectTimeout: callDeadlineMs, interceptors: [] })
    const asked = connection
    try {
      await asked.withAbortSignal(signal, () =>
        asked.withDeadline(grpcDeadline(callDeadlineMs), () => asked.workflowService.getSystemInfo({})),
      )
    } catch (error) {
      if (!isAnswer(error)) {
        // A server that comes back is found by a new connection at once.
        connection = undefined
        await asked.close().catch(() => undefined)
        return
      }
    }
    meter.answered()
    hasAnswered = true
    if (isTold) log?.('The Temporal server answers again.')
    isTold = false
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(askEveryMs, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted) await ask()
    }
  }

  const working = work()
  return {
    silentMs: () => meter.silentMs(),
    hasAnswered: () => hasAnswered,
    async close() {
      ticking.cancel()
      closing.abort()
      // A call that still waits for a connection ends with it.
      await connection?.close()
      await working
    },
  }
}

/** Whether a server that refuses a call has answered it; cancelled, late and unreachable calls have no answer. */
function isAnswer(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'number' && ![1, 4, 14].includes(code)
}

/** The message for people about a server that does not answer. */
export function silenceWords(silentMs: number, remedy?: string): string {
  const words = `The Temporal server does not answer since ${Math.round(silentMs / 1000)} s`
  return remedy === undefined ? words : `${words}; ${remedy}`
}

/** The remedy for the silence of an embedded server. */
export const embeddedRemedy = `after ${hungAfterMs / 1000} s it is started again`
