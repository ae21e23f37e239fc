/**
 * Children of a training run: what an execution does about those that one before it started.
 *
 * Invariants
 * - What is in flight is known by identity alone, so any execution of the run can take it over.
 * - What ended meanwhile is taken in first.
 */

import type { TrainingState } from '../../contract/training-state.ts'
import { lookAt, type TakeEndings, watchOthers } from '../calls/child-watch.ts'
import { takeOver } from '../state/transitions/phase.ts'
import { evaluationIds, resumeEvaluations, takeEndedEvaluations } from './training-evaluations.ts'
import { idsOf, startGroups, takeEndedGroups, takeReports } from './training-groups.ts'

/** Takes over what is in flight from the execution before. */
export async function takeOverChildren(state: TrainingState): Promise<void> {
  if (!state.reattach) {
    // An ending that is counted is not told of again.
    const begun = state.evaluating.filter(({ waits }) => waits === undefined)
    const waiting = state.evaluating.filter(({ waits }) => waits !== undefined)
    watchOthers(state, childrenOf(state, begun), takeEnded(state))
    await resumeEvaluations(state, waiting)
    return
  }
  // What ended that execution may have ended its children too: those are started again.
  takeOver(state)
  if (state.inFlight.length > 0) await takeReports(state, state.inFlight)
  await startGroups(state, state.inFlight)
  await resumeEvaluations(state, state.evaluating)
}

/** Looks now at all that is in flight. */
export async function lookAtChildren(state: TrainingState): Promise<void> {
  await lookAt(childrenOf(state, state.evaluating), takeEnded(state))
}

function childrenOf(state: TrainingState, evaluations: TrainingState['evaluating']): readonly string[] {
  return [...idsOf(state, state.inFlight), ...evaluationIds(state, evaluations)]
}

function takeEnded(state: TrainingState): TakeEndings {
  const takes = [takeEndedGroups(state), takeEndedEvaluations(state)]
  return async (endings) => {
    await Promise.all(takes.map((take) => take(endings)))
  }
}
