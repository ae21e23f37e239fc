/**
 * The progress of a run as its store alone knows it.
 *
 * Invariants
 * - Asks no server: what a finished run came to is known without one.
 */
import type { RunId } from '../identity/identity.ts'
import type { Store } from '../storage/store.ts'
import type { RunProgress } from '../workflows/messages.ts'
import { progressOf } from '../workflows/training-progress.ts'
import { currentState, type TrainingState } from '../workflows/training-state.ts'

/** The same progress with all evaluations of the run: it carries the latest alone. */
export async function withEvaluations(store: Store, run: RunId, answer: RunProgress): Promise<RunProgress> {
  const { found, failed } = await store.evaluations.findings(run)
  const { failedEvaluations: _, ...others } = answer
  return { ...others, evaluations: found, ...(failed.length === 0 ? {} : { failedEvaluations: failed }) }
}

/** What a run that is done came to; undefined where it is not done. */
export async function finishedProgress(store: Store, run: RunId): Promise<RunProgress | undefined> {
  if ((await store.runs.get(run))?.status !== 'done') return undefined
  const state = (await store.runs.state(run)) as TrainingState | undefined
  if (state?.phase !== 'done') return undefined
  return withEvaluations(store, run, progressOf(currentState(state)))
}
