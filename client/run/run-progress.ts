/**
 * Progress and ending of runs, from their workflows, the store and the disk.
 *
 * Invariants
 * - Reading progress changes nothing.
 * - All evaluations come from the store: a workflow carries only the latest.
 * - [RESULT-1] An execution that was given up for a new one is not the end of its run.
 * - [RESULT-2] From the second attempt of an activity on, the progress has the reason of the failure before.
 * - [RESULT-3] A look at a busy server never shows an earlier phase or step than the look before.
 * - A cancelled run stores the phase of a stopped one and counts as stopped.
 */
import {
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client'
import { CancelledFailure } from '@temporalio/common'
import { type FailingWork, progress, type RunProgress } from '../../contract/messages.ts'
import { runId } from '../../identity/identity.ts'
import type { RunPhase } from '../../learning/run/run-phase.ts'
import { clock } from '../../machine/services/clock.ts'
import { diskSpace } from '../../storage/disk/disk-use.ts'
import { isDeadline, isNotReady } from '../../temporal/calls/call-status.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { diskWarning } from '../../workers/upkeep/disk-watch.ts'
import { progressOf } from '../../workflows/state/training-progress.ts'
import { firstReasonOf, type SessionParts, throughRestarts } from './run-calls.ts'
import { SessionFault } from './session-fault.ts'
import { finishedProgress, withEvaluations } from './stored-runs.ts'

export interface RunsProgress {
  /** How far the run is, from its workflow or, where no worker answers, from the store. */
  progress(run: string): Promise<RunProgress>
  /** Settles when the run ends. @throws SessionFault `run_failed`, with the reason */
  result(run: string): Promise<RunProgress>
}

/** As `RunsProgress.progress`, what the run itself says: nothing of the disk, of evaluations the latest. */
export type OwnProgress = (run: string) => Promise<RunProgress>

/** Phases in which a run writes nothing any more. */
const endedPhases: ReadonlySet<RunPhase> = new Set(['done', 'stopped', 'failed'])

/** The store has a run's state at its last publication, so an answer since then is more recent. */
function laterOf(answer: RunProgress | undefined, stored: RunProgress): RunProgress {
  const isPast =
    answer === undefined ||
    endedPhases.has(answer.phase) ||
    endedPhases.has(stored.phase) ||
    answer.step < stored.step
  return isPast ? stored : answer
}

export function createRunsProgress(
  parts: Omit<SessionParts, 'goodVersion' | 'log' | 'by'>,
): RunsProgress & { readonly ownProgress: OwnProgress } {
  const { home, store, server, ask, describe, handleOf, known, lastState } = parts

  const answers = new Map<string, RunProgress>()

  async function ownProgress(run: string): Promise<RunProgress> {
    await known(run)
    try {
      const answer = await ask(() => handleOf(run).query(progress))
      answers.set(run, answer)
      return answer
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError) && !isDeadline(error) && !isNotReady(error)) throw error
      return laterOf(answers.get(run), progressOf(await lastState(run)))
    }
  }

  /** Failures from the store, and those of the run's own activities that only the server knows. */
  async function failingWork(run: string): Promise<readonly FailingWork[]> {
    const stored = await store.failing.list(runId(run), clock.now())
    const pending = await pendingFailures(() => describe(run))
    const others = pending.filter(({ work }) => stored.every((each) => each.work !== work))
    return [...stored.map(({ work, reason, attempt }) => ({ work, reason, attempt })), ...others]
  }

  const evaluated = (answer: RunProgress) => withEvaluations(store, runId(answer.run), answer)

  return {
    ownProgress,

    async progress(run) {
      const { config } = await known(run)
      const answer = await evaluated(await ownProgress(run))
      if (endedPhases.has(answer.phase)) return answer
      const failing = await failingWork(run)
      const warning = diskWarning(home.dir, await diskSpace(home.dir), config.retention)
      const warnings = [server.silence(), answer.warning, warning].filter((each) => each !== undefined)
      return {
        ...answer,
        ...(failing.length === 0 ? {} : { failing }),
        ...(warnings.length === 0 ? {} : { warning: warnings.join('; ') }),
      }
    },

    async result(run) {
      try {
        const handle = handleOf(run)
        return await evaluated(await throughRestarts(handle))
      } catch (error) {
        if (!(error instanceof WorkflowFailedError)) throw error
        // A run that is done in the store is done, even if an execution of another moment ended otherwise.
        const finished = await finishedProgress(store, runId(run))
        if (finished !== undefined) return finished
        if (error.cause instanceof CancelledFailure) return evaluated(progressOf(await lastState(run)))
        const why = (await store.runs.get(runId(run)))?.detail ?? firstReasonOf(error)
        const advice = `once that is fixed, \`perdure resume ${run}\` continues it`
        throw new SessionFault('run_failed', `run ${run} failed: ${why}; ${advice}`, { cause: error })
      }
    },
  }
}

/** A worker that stops leaves its work to the next one. */
const noFailure = 'WorkerStopping'

/** @param describe the run's execution; undefined where it has none */
export async function pendingFailures(
  describe: () => Promise<Pick<WorkflowExecutionDescription, 'raw'> | undefined>,
): Promise<readonly FailingWork[]> {
  try {
    const pending = (await describe())?.raw.pendingActivities ?? []
    return pending.flatMap(({ activityType, attempt, lastFailure }) =>
      attempt == null || attempt < 2 || lastFailure?.applicationFailureInfo?.type === noFailure
        ? []
        : [{ work: activityType?.name ?? '', reason: lastFailure?.message ?? '', attempt: attempt - 1 }],
    )
  } catch (error) {
    // A server that does not answer is reported by the progress itself.
    if (error instanceof TemporalFault && error.kind === 'unreachable') return []
    throw error
  }
}
