/**
 * Pipeline of a run: how many groups may be admitted now, and whether an update can start.
 *
 * Invariants
 * - Generation and training overlap, bounded by the staleness η: an update waits for groups that would grow older.
 */

import { rolloutSettings, type TrainingState } from '../../../contract/training-state.ts'
import { admissible, nextBatch } from '../../../learning/rollout/admission.ts'
import { evaluationsInFlight } from '../../../learning/run/state-bounds.ts'

/** Groups that may be admitted now. */
export function roomForGroups(state: TrainingState): number {
  const outstanding = state.inFlight.length + state.ready.length + state.training.length
  const counts = { outstanding, inFlight: state.inFlight.length, updatesLeft: updatesLeft(state) }
  return admissible(rolloutSettings(state), counts)
}

/** Updates that are still to be made. */
export function updatesLeft({ config, step, isSpent }: TrainingState): number {
  return isSpent === true ? 0 : Math.max(0, config.training.updates - step)
}

/** Which of the ready groups the next update takes, by their positions; undefined while none can start. */
export function nextBatchOf(state: TrainingState): readonly number[] | undefined {
  return nextBatch(rolloutSettings(state), {
    version: state.version,
    ready: state.ready.map((group) => group.version),
    inFlight: state.inFlight.map((group) => group.version),
  })
}

/** True when an update can start: enough groups wait, and none in flight would grow too old. */
export function batchIsReady(state: TrainingState): boolean {
  return nextBatchOf(state) !== undefined
}

/** True when an update can start and no order comes first. */
export function mayUpdate(state: TrainingState): boolean {
  const { paused, stopRequested, rollBackTo } = state
  return batchIsReady(state) && !paused && !stopRequested && rollBackTo === null && !evaluationsLag(state)
}

/** True when evaluations are backed up (with `evaluation.blocking`: when any is running). */
export function evaluationsLag({ evaluating, config: { evaluation } }: TrainingState): boolean {
  const most = evaluation.blocking ? 0 : evaluationsInFlight(evaluation.suites.length)
  return evaluating.length > most
}
