/**
 * Children of a training run: an execution takes over the children that the execution before it started.
 *
 * Invariants
 * - Work in flight is known by identity alone, so any execution of the run can take it over.
 * - Work that ended meanwhile is recorded first.
 */

import type { TrainingState } from '../../contract/training-state.ts'
import { type AcceptEndings, checkEnded, watchOthers } from '../calls/child-watch.ts'
import { takeOver } from '../state/transitions/phase.ts'
import { acceptEndedEvaluations, evaluationIds, resumeEvaluations } from './training-evaluations.ts'
import { acceptEndedGroups, acceptReports, idsOf, startGroups } from './training-groups.ts'

/** Takes over the groups and evaluations that are in flight from the execution before. */
export async function takeOverChildren(state: TrainingState): Promise<void> {
  if (!state.reattach) {
    // An evaluation whose ending is counted waits for its repetition, and is not watched.
    const begun = state.evaluating.filter(({ waits }) => waits === undefined)
    const waiting = state.evaluating.filter(({ waits }) => waits !== undefined)
    watchOthers(state, childrenOf(state, begun), acceptEnded(state))
    await resumeEvaluations(state, waiting)
    return
  }
  // The failure that ended the last execution may have ended its children too: those are started again.
  takeOver(state)
  if (state.inFlight.length > 0) await acceptReports(state, state.inFlight)
  await startGroups(state, state.inFlight)
  await resumeEvaluations(state, state.evaluating)
}

/** Checks now whether children in flight have ended. */
export async function checkChildren(state: TrainingState): Promise<void> {
  await checkEnded(childrenOf(state, state.evaluating), acceptEnded(state))
}

function childrenOf(state: TrainingState, evaluations: TrainingState['evaluating']): readonly string[] {
  return [...idsOf(state, state.inFlight), ...evaluationIds(state, evaluations)]
}

function acceptEnded(state: TrainingState): AcceptEndings {
  const accepts = [acceptEndedGroups(state), acceptEndedEvaluations(state)]
  return async (endings) => {
    await Promise.all(accepts.map((accept) => accept(endings)))
  }
}
