/**
 * The Temporal workers of this process that run now.
 *
 * Invariants
 * - A worker that was created is run: until it has, it holds on to its connection.
 * - Disposing asks all of them, and their calls in progress, to end, and waits until they have.
 */
import { IllegalStateError } from '@temporalio/common'
import { GracefulShutdownPeriodExpiredError, type Worker } from '@temporalio/worker'
import type { Calls } from '../activities/calls/stopping.ts'
import { reasonOf } from '../faults/reason.ts'

export interface RunningWorkers extends AsyncDisposable {
  start(worker: Worker): void
  /** Settles when those that were started have stopped, with the error of one that failed. */
  stopped(): Promise<void>
}

export function createRunningWorkers(calls: Calls, log: (line: string) => void): RunningWorkers {
  const workers: Worker[] = []
  const runnings: Promise<void>[] = []
  let isStopping = false

  async function runUntilStopped(worker: Worker): Promise<void> {
    try {
      await worker.run()
    } catch (error) {
      // It says so itself, or that its native part is still in use.
      const isLate = error instanceof GracefulShutdownPeriodExpiredError || error instanceof IllegalStateError
      if (!isStopping || !isLate) throw error
      log(`a worker was left before all its activities had ended: ${reasonOf(error)}`)
    }
  }

  return {
    start(worker) {
      workers.push(worker)
      const running = runUntilStopped(worker)
      running.catch(() => undefined)
      runnings.push(running)
    },
    stopped() {
      const all = Promise.all(runnings).then(() => undefined)
      all.catch(() => undefined)
      return all
    },
    async [Symbol.asyncDispose]() {
      isStopping = true
      calls.stop()
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
      await Promise.allSettled(runnings)
    },
  }
}
