/**
 * Stopping: the calls of a worker's activities end once the worker is asked to stop.
 *
 * Invariants
 * - [STOP-1] No call begins after that.
 * - [STOP-2] A call in progress may end for a moment; then it is given up, whatever it waits for, and the next worker
 *   does it again. So no activity keeps a worker from stopping.
 * - [STOP-3] A call that fails meanwhile counts as stopped, and is done again too: a shutdown is not a failure.
 * - [STOP-4] Calls that were given up and still work can be waited for, before their resources are closed.
 * - [STOP-5] The signal of a call that is given up aborts: engine and environment are left at once.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import { ApplicationFailure } from '@temporalio/common'
import { clock } from '../../machine/services/clock.ts'
import { type Activities, wrapEach } from './wrapping.ts'

/** Turns and updates of a small policy end within it, and a person waits that long after Ctrl-C. */
const usualGraceSeconds = 3

const givenUpSignals = new AsyncLocalStorage<AbortSignal>()

/** Aborts when the call that asks for it is given up; undefined outside of the calls of a worker. */
export function givenUpSignal(): AbortSignal | undefined {
  return givenUpSignals.getStore()
}

/** The calls of one process. */
export interface Calls {
  /** The same activities, whose calls end with the worker. */
  untilStopping<A extends Activities>(activities: A): A
  /** Asks all calls to end. */
  stop(): void
  /** Settles when no call works any more, or after this time. */
  settled(withinMs: number): Promise<void>
}

export function createCalls(graceSeconds = usualGraceSeconds): Calls {
  const working = new Set<Promise<unknown>>()
  const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>()
  givenUp.catch(() => undefined)
  const abandoned = new AbortController()
  setMaxListeners(0, abandoned.signal)
  let isStopping = false

  async function tracked(call: () => Promise<unknown>): Promise<unknown> {
    if (isStopping) throw workerStopping()
    const work = givenUpSignals.run(abandoned.signal, call)
    working.add(work)
    // The caller receives the fault; a call that was given up has no caller.
    work.then(
      () => working.delete(work),
      () => working.delete(work),
    )
    try {
      return await Promise.race([work, givenUp])
    } catch (error) {
      throw isStopping ? workerStopping() : error
    }
  }

  return {
    untilStopping: (activities) => wrapEach(activities, tracked),
    stop() {
      if (isStopping) return
      isStopping = true
      clock
        .after(graceSeconds * 1000, () => {
          giveUp(workerStopping())
          abandoned.abort(workerStopping())
        })
        .unref()
    },
    async settled(withinMs) {
      const enough = new AbortController()
      await Promise.race([
        Promise.allSettled(working),
        clock.sleep(withinMs, { signal: enough.signal }).catch(() => undefined),
      ])
      enough.abort()
    },
  }
}

/**
 * An episode goes from turn to turn within one workflow task; the delay, longer than `localRetryThreshold`, turns
 * its next turn into a timer, so that the task ends here and the turn is played by the next worker.
 */
function workerStopping(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'WorkerStopping',
    message: 'this worker is stopping; the next one continues',
    nextRetryDelay: '2 seconds',
  })
}
