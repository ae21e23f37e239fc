/**
 * Endings of a training run: done, stopped, failed.
 *
 * Invariants
 * - Each ending leaves the state in the store, and work in flight continues: `resume` finds both.
 * - A run that is cancelled from outside ends like a run that gets the order to stop now.
 */
import {
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  isCancellation,
  setCurrentDetails,
} from '@temporalio/workflow'
import type { TrainingState } from '../../contract/training-state.ts'
import { runActivities } from '../calls/dispatch.ts'
import { reasonOf } from '../calls/failure-reason.ts'
import { describe, showPhase } from '../page/training-details.ts'
import { progressOf } from '../state/training-progress.ts'
import { endRun } from '../state/transitions/phase.ts'
import { continueWhenLong, isLong } from './continuation.ts'
import { startEvaluations } from './training-evaluations.ts'

/**
 * Work of the trainer that a run which must stop now does not wait for. The trainer may still complete it: a resumed run
 * finds the result under the work's identity.
 * @returns undefined where it was left
 */
export async function unlessStoppedNow<T>(
  state: TrainingState,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const working = new CancellationScope()
  const watching = new CancellationScope()
  const result = working.run(work)
  const stopped = watching.run(() => condition(() => state.stopNow))
  try {
    return await Promise.race([result, stopped.then(() => undefined)])
  } finally {
    watching.cancel()
    if (state.stopNow) working.cancel()
    // The loser of the race is cancelled, or has ended: no one waits for it any more.
    await Promise.allSettled([result, stopped])
  }
}

/** Ends a run: with a last evaluation unless it was stopped, and its progress in the store. */
export async function finish(state: TrainingState): Promise<void> {
  if (!state.stopRequested) await startEvaluations(state, 'last')
  showPhase(state, state.stopRequested ? 'stopping' : 'evaluating')
  const isOver = () => state.evaluating.length === 0 || state.stopRequested
  while (!isOver()) {
    await condition(() => isOver() || isLong(state))
    await continueWhenLong(state)
  }
  showPhase(state, state.stopRequested ? 'stopped' : 'done')
  await recordEnd(state)
  await condition(allHandlersFinished)
}

/** Records that a run failed or was cancelled. */
export async function fail(state: TrainingState, error: unknown): Promise<void> {
  if (error instanceof ContinueAsNew) return
  const isCancelled = isCancellation(error)
  const message = isCancelled
    ? `it was cancelled in Temporal; \`perdure resume ${state.run}\` continues it`
    : reasonOf(error)
  endRun(state, isCancelled ? 'stopped' : 'failed', message)
  setCurrentDetails(describe(state))
  await recordEnd(state)
}

async function recordEnd(state: TrainingState): Promise<void> {
  await runActivities.recordEnd({
    run: state.run,
    progress: progressOf(state),
    state: JSON.stringify(state),
    at: Date.now(),
  })
}
