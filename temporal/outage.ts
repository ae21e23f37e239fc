/**
 * Outages: the one rule by which clients wait for a server that has been reached once, as workers do.
 *
 * The client's own retries give up after about twenty seconds, and no signal ends them between two attempts.
 *
 * Invariants
 * - [OUTAGE-1] A call that does not reach the server is made again until it does, as the same request: a workflow whose
 *   start was answered into the void is not started twice.
 * - [OUTAGE-2] A deadline or an abort signal ends a call at any time, also between two attempts.
 * - [OUTAGE-3] Ending the wait ends every call in progress, and no call is made again afterwards.
 * - [OUTAGE-4] An answer that a server owes to its own outage is no answer: its own deadline, a cancellation, or that the
 *   namespace is unknown. Such a call is made again, as often as other failures.
 * - Other failures are retried as the client does by default.
 */
import { type ConnectionOptions, defaultGrpcRetryOptions } from '@temporalio/client'
import { clock, systemClock, type Timer } from '../machine/services/clock.ts'

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]
/** A unary call, as the library takes it from an interceptor. */
type Call = Pick<ReturnType<Interceptor>, keyof ReturnType<Interceptor>>
type Listener = NonNullable<Parameters<Call['start']>[1]>
type Metadata = Parameters<Call['start']>[0]
type Status = Parameters<NonNullable<Listener['onReceiveStatus']>>[0]

/** gRPC's numbers. */
const cancelled = 1
const deadlineExceeded = 4
const notFound = 5
const unavailable = 14
const serversOwn: ReadonlySet<number> = new Set([cancelled, deadlineExceeded])

/** Where a server gives the type of its failure, and the type that says that the namespace is unknown. */
const detailsKey = 'grpc-status-details-bin'
const namespaceUnknown = 'temporal.api.errordetails.v1.NamespaceNotFoundFailure'

/** A server that comes back is found within this time. */
const longestPauseMs = 1_000
const usual = defaultGrpcRetryOptions()

export interface OutageWait {
  /** For the options of a connection, in place of the client's own. */
  readonly interceptors: readonly Interceptor[]
  /** Ends all calls; the connection can be closed afterwards. */
  end(): void
}

export function createOutageWait(): OutageWait {
  const calls = new Set<Call>()
  let isEnded = false

  function intercept(options: Parameters<Interceptor>[0], send: Parameters<Interceptor>[1]): Call {
    const deadline = Number(options.deadline ?? Number.POSITIVE_INFINITY)
    let refusals = 0
    const call = waitingCall(() => send(options), {
      pauseMs(tries, status) {
        if (status.code !== unavailable) refusals += 1
        return isEnded
          ? undefined
          : pauseBefore({ tries, refusals, leftMs: deadline - systemClock.now() }, status)
      },
      settled: () => calls.delete(call),
    })
    calls.add(call)
    return call
  }

  return {
    // The library's type is a class, of which it uses the methods of a call alone.
    interceptors: [intercept as Interceptor],
    end() {
      isEnded = true
      for (const call of calls) call.cancelWithStatus(cancelled, 'the connection is closed')
    },
  }
}

interface Failures {
  /** Attempts so far. */
  readonly tries: number
  /** Those of them that reached the server. */
  readonly refusals: number
  /** Until the deadline of the call. */
  readonly leftMs: number
}

/** @returns milliseconds before the next attempt; undefined where the failure is final */
function pauseBefore({ tries, refusals, leftMs }: Failures, status: Status): number | undefined {
  const isOutage = status.code === unavailable
  const isOwed = isOwedToOutage(status) && leftMs > 0
  const again = isOwed ? { ...status, code: unavailable } : status
  if (!isOutage && !usual.retryableDecider(refusals, again)) return undefined
  const pause = usual.delayFunction(tries, status)
  return Math.max(0, Math.min(isOutage ? longestPauseMs : pause, pause, leftMs))
}

/**
 * Whether a server that hung may answer so when it continues. It looks its namespaces up with a deadline that has passed
 * meanwhile, and takes the failure for an unknown namespace; `connect` has found the namespace before.
 */
function isOwedToOutage({ code, metadata }: Status): boolean {
  if (code !== notFound) return serversOwn.has(code)
  return metadata.get(detailsKey).some((details) => details.includes(namespaceUnknown))
}

interface Rules {
  pauseMs(tries: number, status: Status): number | undefined
  settled(): void
}

/** A call that is made again as long as the rules give a pause. */
function waitingCall(send: () => Call, { pauseMs, settled }: Rules): Call {
  let attempt = send()
  let tries = 1
  let begun: { readonly metadata: Metadata; readonly listener: Listener } | undefined
  let message: unknown
  let waiting: { readonly timer: Timer; readonly status: Status } | undefined
  let isCancelled = false

  function begin(metadata: Metadata, listener: Listener): void {
    let header: Metadata | undefined
    let answer: unknown = null
    attempt.start(metadata.clone(), {
      onReceiveMetadata: (received) => {
        header = received
      },
      onReceiveMessage: (received) => {
        answer = received
      },
      onReceiveStatus: (status) => {
        const pause = isCancelled ? undefined : pauseMs(tries, status)
        if (pause !== undefined) {
          waiting = { status, timer: clock.after(pause, again) }
          return
        }
        if (header !== undefined) listener.onReceiveMetadata?.(header)
        listener.onReceiveMessage?.(answer)
        settle(status)
      },
    })
  }

  function again(): void {
    waiting = undefined
    if (begun === undefined) return
    tries += 1
    attempt = send()
    begin(begun.metadata, begun.listener)
    attempt.sendMessage(message)
    attempt.halfClose()
  }

  function settle(status: Status): void {
    settled()
    begun?.listener.onReceiveStatus?.(status)
  }

  return {
    start(metadata, listener = {}) {
      begun = { metadata, listener }
      begin(metadata, listener)
    },
    sendMessageWithContext(context, given) {
      message = given
      attempt.sendMessageWithContext(context, given)
    },
    sendMessage(given) {
      message = given
      attempt.sendMessage(given)
    },
    startRead: () => attempt.startRead(),
    halfClose: () => attempt.halfClose(),
    getPeer: () => attempt.getPeer(),
    getAuthContext: () => attempt.getAuthContext(),
    cancelWithStatus(code, details) {
      isCancelled = true
      if (waiting === undefined) {
        attempt.cancelWithStatus(code, details)
        return
      }
      waiting.timer.cancel()
      const { status } = waiting
      waiting = undefined
      begun?.listener.onReceiveMessage?.(null)
      settle({ ...status, code, details })
    },
  }
}
