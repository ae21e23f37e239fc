/**
 * Progress of runs: where each stands and how it ended, from its workflow, its store and the disk it writes to.
 *
 * Invariants
 * - Looking changes nothing.
 * - Evaluations come from the store, all of them: a run carries the latest alone.
 * - A run that was cancelled has stored itself as one that was stopped, and counts as one.
 */
import { WorkflowFailedError, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import { CancelledFailure } from '@temporalio/common'
import type { RunConfig } from '../config/schema.ts'
import { runId } from '../identity.ts'
import { diskSpace } from '../storage/disk-use.ts'
import type { Store } from '../storage/store.ts'
import { progress, type RunPhase, type RunProgress } from '../workflows/messages.ts'
import type { trainingRun } from '../workflows/training-run.ts'
import { progressOf, type TrainingState } from '../workflows/training-state.ts'
import { isDeadline, isNotReady } from './call-status.ts'
import type { TemporalConnection } from './connection.ts'
import { diskWarning } from './disk-watch.ts'
import type { ServerCalls } from './server-calls.ts'
import { SessionFault } from './session-fault.ts'
import { withEvaluations } from './stored-progress.ts'
import { firstReasonOf } from './workflow-result.ts'

export interface RunsProgress {
  /** Where the run stands, from its workflow or, where no worker answers, from the store. */
  progress(run: string): Promise<RunProgress>
  /** Settles when the run ends. @throws SessionFault `run_failed`, with the reason */
  result(run: string): Promise<RunProgress>
}

interface Dependencies {
  readonly store: Store
  /** Directory of the home. */
  readonly home: string
  readonly connection: Pick<TemporalConnection, 'silence'>
  readonly ask: ServerCalls['ask']
  readonly handleOf: (run: string) => WorkflowHandle<typeof trainingRun>
  /** @throws SessionFault `unknown_run` */
  readonly known: (run: string) => Promise<{ readonly config: RunConfig }>
  /** What a run last stored of itself. @throws SessionFault `unknown_run` */
  readonly lastState: (run: string) => Promise<TrainingState>
  /** A call that ends with the session. */
  readonly untilClosed: <T>(call: () => Promise<T>) => Promise<T>
}

/** Phases in which a run writes nothing any more. */
const endedPhases: ReadonlySet<RunPhase> = new Set(['done', 'stopped', 'failed'])

export function createRunsProgress(dependencies: Dependencies): RunsProgress & {
  /** As `progress`, what the run itself tells: nothing of the disk, of evaluations the latest. */
  told(run: string): Promise<RunProgress>
} {
  const { connection, store, home, ask, handleOf, known, lastState, untilClosed } = dependencies

  async function told(run: string): Promise<RunProgress> {
    await known(run)
    try {
      return await ask(() => handleOf(run).query(progress))
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError) && !isDeadline(error) && !isNotReady(error)) throw error
      return progressOf(await lastState(run))
    }
  }

  const evaluated = (answer: RunProgress) => withEvaluations(store, runId(answer.run), answer)

  return {
    told,

    async progress(run) {
      const { config } = await known(run)
      const answer = await evaluated(await told(run))
      if (endedPhases.has(answer.phase)) return answer
      const warning = diskWarning(home, await diskSpace(home), config.retention)
      const warnings = [connection.silence(), answer.warning, warning].filter((each) => each !== undefined)
      return warnings.length === 0 ? answer : { ...answer, warning: warnings.join('; ') }
    },

    async result(run) {
      try {
        return await evaluated(await untilClosed(() => handleOf(run).result()))
      } catch (error) {
        if (!(error instanceof WorkflowFailedError)) throw error
        if (error.cause instanceof CancelledFailure) return evaluated(progressOf(await lastState(run)))
        const why = (await store.runs.get(runId(run)))?.detail ?? firstReasonOf(error)
        const advice = `once that is fixed, \`perdure resume ${run}\` goes on with it`
        throw new SessionFault('run_failed', `run ${run} failed: ${why}; ${advice}`, { cause: error })
      }
    },
  }
}
