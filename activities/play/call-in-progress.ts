/**
 * The call of an activity that is in progress: until when what it waits for is wanted, which try it is, and what its work takes.
 *
 * Invariants
 * - [CALL-PROGRESS-1] It is no longer wanted once it is cancelled or its time is up. A worker that stops lets its calls
 *   end for a moment, then gives them up (`stopping.ts`).
 */
import { Context } from '@temporalio/activity'
import { clock } from '../../machine/services/clock.ts'
import type { TurnTime } from '../../storage/trajectories/turn-time.ts'
import { givenUpSignal } from '../calls/stopping.ts'

interface CallInProgress {
  /** Aborts with a CancelledFailure, or with the failure of a worker that stops. */
  readonly signal: AbortSignal
  /** From 1 on. */
  readonly attempt: number
}

const signals = new WeakMap<AbortSignal, AbortSignal>()

/** @throws IllegalStateError outside of an activity */
export function callInProgress(): CallInProgress {
  const { cancellationSignal, info } = Context.current()
  return { signal: wantedUntil(cancellationSignal), attempt: info.attempt }
}

/** Does work of the call, and measures it. @throws IllegalStateError outside of an activity */
export async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly took: TurnTime }> {
  const { attempt } = Context.current().info
  const since = clock.monotonic()
  const result = await work()
  return { result, took: { seconds: (clock.monotonic() - since) / 1000, attempt } }
}

/** Waits for an environment until the call is no longer wanted. @throws the reason of its signal */
export async function unlessCancelled<T>(work: () => Promise<T>): Promise<T> {
  const { signal } = callInProgress()
  const { promise: givenUp, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work(), givenUp])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** One for each call, however often a block of turns asks for it. */
function wantedUntil(cancellation: AbortSignal): AbortSignal {
  const known = signals.get(cancellation)
  if (known !== undefined) return known
  const own = new AbortController()
  const onAbort = () => {
    if (!isShutdown(cancellation)) own.abort(cancellation.reason)
  }
  if (cancellation.aborted) onAbort()
  cancellation.addEventListener('abort', onAbort, { once: true })
  const givenUp = givenUpSignal()
  const signal = givenUp === undefined ? own.signal : AbortSignal.any([own.signal, givenUp])
  signals.set(cancellation, signal)
  return signal
}

/** True for a call that is cancelled because its worker stops. */
function isShutdown({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.message === 'WORKER_SHUTDOWN'
}
