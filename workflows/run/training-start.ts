/**
 * How a training run is started, the same from outside and from within an experiment.
 *
 * Invariants
 * - It is started under its identity, and found by its run, and by its version where it has one.
 */

import { searchAttributes } from '../../contract/messages.ts'
import { workflowTaskTimeout } from '../../contract/task-queues.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { workflowIdOf } from '../../identity/identity.ts'
import type { Place } from '../page/links.ts'

/** Id and options of the workflow that starts from a state. */
export function trainingStart(state: TrainingState, { home }: Place) {
  const workflowId = workflowIdOf(home, state.run)
  return {
    workflowId,
    workflowTaskTimeout,
    args: [state] as [TrainingState],
    staticSummary: `training run ${state.run}`,
    typedSearchAttributes: [
      { key: searchAttributes.run, value: workflowId },
      // As the execution before said it: what it took in is known to this one.
      ...(state.step > 0 ? [{ key: searchAttributes.version, value: state.version }] : []),
    ],
  }
}
