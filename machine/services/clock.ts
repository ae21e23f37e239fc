/**
 * The clock of the durable path: the time, durations, timers and waiting. `scripts/services.ts` forbids other ways to them.
 *
 * Invariants
 * - [CLOCK-1] Work that begins within `withClock` uses that clock, and so does all work that it begins; other work of the process
 *   does not, so that two sessions may have two clocks.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since the epoch. They may jump, and go back where a person sets the clock: for times that are stored. */
  now(): number
  /** Milliseconds that only grow, from any beginning: for durations and deadlines. */
  monotonic(): number
  /** Waits. @throws AbortError when the signal ends the wait */
  sleep(ms: number, options?: Waiting): Promise<void>
  /** Calls once. */
  after(ms: number, call: () => void): Timer
  /** Calls again and again. */
  every(ms: number, call: () => void): Timer
}

export interface Waiting {
  readonly signal?: AbortSignal | undefined
  /** False: the wait does not keep the process alive. */
  readonly ref?: boolean
}

export interface Timer {
  cancel(): void
  /** From now on the timer does not keep the process alive. */
  unref(): Timer
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, options) => wait(ms, undefined, options),
  after: (ms, call) => timerOf(setTimeout(call, ms)),
  every: (ms, call) => timerOf(setInterval(call, ms)),
}

function timerOf(timeout: NodeJS.Timeout): Timer {
  const timer: Timer = {
    cancel: () => clearTimeout(timeout),
    unref() {
      timeout.unref()
      return timer
    },
  }
  return timer
}

const scope = new AsyncLocalStorage<Clock>()
const current = (): Clock => scope.getStore() ?? systemClock

/** The clock of the work that calls: the system's, or the one of `withClock`. */
export const clock: Clock = {
  now: () => current().now(),
  monotonic: () => current().monotonic(),
  sleep: (ms, options) => current().sleep(ms, options),
  // A clock that calls from elsewhere would otherwise take the caller out of its scope.
  after: (ms, call) => current().after(ms, AsyncLocalStorage.bind(call)),
  every: (ms, call) => current().every(ms, AsyncLocalStorage.bind(call)),
}

/** Calls with another clock. */
export function withClock<Result>(other: Clock, call: () => Result): Result {
  return scope.run(other, call)
}

/** A signal that aborts after so long, without keeping the process alive. */
export function deadlineSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  clock.after(ms, () => controller.abort(late)).unref()
  return controller.signal
}

/** The moment after so long by the system's clock, by which gRPC measures deadlines whatever clock the work has. */
export function grpcDeadline(ms: number): number {
  return systemClock.now() + ms
}
