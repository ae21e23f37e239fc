/**
 * Reports of failures: repeated failures are logged, and kept in the store until the work succeeds.
 *
 * Invariants
 * - [REPORTS-1] From the second attempt on, the store has the reason of every activity that fails, and so at once for one that is not
 *   tried again. Success removes it.
 * - [REPORTS-2] A call that is cancelled is no failure. A store that cannot be written changes nothing of the call.
 */
import { Context } from '@temporalio/activity'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { reasonOf } from '../../faults/reason.ts'
import { type RunId, runId } from '../../identity/identity.ts'
import { failingWords } from '../../learning/run/failing-words.ts'
import { clipped, textBytes } from '../../learning/run/state-bounds.ts'
import { clock } from '../../machine/services/clock.ts'
import type { FailingWorks } from '../../storage/records/failing-work.ts'
import { type Activities, wrapEach } from './wrapping.ts'

/** Between two log lines on one kind of work: episodes often fail together. */
const betweenLinesMs = 10_000

export interface FailureReports {
  /** The same activities, whose failures are reported. */
  reporting<A extends Activities>(activities: A): A
  /** Reports work that a failing activity tries again by itself. */
  failed(run: RunId, work: string, attempt: number, reason: string): Promise<void>
  succeeded(run: RunId, work: string): Promise<void>
  /** Reports a call of an environment that has not answered yet. @returns what is to be called once it has ended */
  reportSlow(run: RunId, sentence: string): () => void
}

interface Dependencies {
  readonly failing: Pick<FailingWorks, 'put' | 'remove'>
  readonly log: (line: string) => void
}

export function createFailureReports({ failing, log }: Dependencies): FailureReports {
  /** Kinds of work, by run, that this process has reported, with when it last wrote a line. */
  const reported = new Map<string, number>()
  /** When this process last wrote that the store takes no reports: on a full disk each failure meets it. */
  let lastUnstored = Number.NEGATIVE_INFINITY

  async function stored(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      const now = clock.monotonic()
      if (now - lastUnstored <= betweenLinesMs) return
      lastUnstored = now
      log(`what fails cannot be stored: ${reasonOf(error)}`)
    }
  }

  async function report(run: RunId, work: string, attempt: number, said: string): Promise<void> {
    const reason = clipped(said, textBytes)
    const key = `${run} ${work}`
    const now = clock.monotonic()
    const last = reported.get(key)
    if (last === undefined || now - last > betweenLinesMs) {
      reported.set(key, now)
      log(`${run}: ${failingWords({ work, attempt, reason })}`)
    }
    await stored(() => failing.put(run, { work, reason, attempt, time: clock.now() }))
  }

  async function succeed(run: RunId, work: string): Promise<void> {
    if (reported.delete(`${run} ${work}`)) await stored(() => failing.remove(run, work))
  }

  return {
    reporting: (activities) =>
      wrapEach(activities, async (call, work, argument) => {
        const run = runOf(argument)
        try {
          const result = await call()
          if (run !== undefined) await succeed(run, work)
          return result
        } catch (error) {
          const { attempt } = Context.current().info
          const isOver = error instanceof ApplicationFailure && error.nonRetryable === true
          if (run !== undefined && !(error instanceof CancelledFailure) && (attempt > 1 || isOver))
            await report(run, work, attempt, reasonOf(error))
          throw error
        }
      }),
    failed: report,
    succeeded: succeed,
    reportSlow(run, sentence) {
      void report(run, 'environment', 0, sentence)
      return () => void succeed(run, 'environment')
    },
  }
}

function runOf(argument: unknown): RunId | undefined {
  const isNamed = typeof argument === 'object' && argument !== null && 'run' in argument
  return isNamed && typeof argument.run === 'string' ? runId(argument.run) : undefined
}
