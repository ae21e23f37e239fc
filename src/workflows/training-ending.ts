/**
 * Endings of a training run: done, stopped, failed.
 *
 * Invariants
 * - Each leaves its state in the store, and what is in flight goes on: `resume` finds both.
 */
import { allHandlersFinished, ContinueAsNew, condition, isCancellation } from '@temporalio/workflow'
import { runActivities } from './dispatch.ts'
import { reasonOf } from './failure-reason.ts'
import { startEvaluations } from './training-children.ts'
import { enter } from './training-details.ts'
import { progressOf, type TrainingState } from './training-state.ts'

/** The end of a run: a last evaluation unless it was stopped, and its progress in the store. */
export async function finish(state: TrainingState): Promise<void> {
  if (!state.stopRequested) await startEvaluations(state, 'last')
  enter(state, state.stopRequested ? 'stopping' : 'evaluating')
  await condition(() => state.evaluating.length === 0 || state.stopRequested)
  enter(state, state.stopRequested ? 'stopped' : 'done')
  await recordEnd(state)
  await condition(allHandlersFinished)
}

/** A failed run says why. One that is cancelled is left as it last published itself. */
export async function fail(state: TrainingState, error: unknown): Promise<void> {
  if (isCancellation(error) || error instanceof ContinueAsNew) return
  state.message = reasonOf(error)
  enter(state, 'failed')
  await recordEnd(state)
}

async function recordEnd(state: TrainingState): Promise<void> {
  await runActivities.recordEnd({ run: state.run, progress: progressOf(state), state: JSON.stringify(state) })
}
