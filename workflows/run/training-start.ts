/**
 * How a training run is started, the same from outside and from within an experiment.
 *
 * Invariants
 * - The workflow has the run's identity as its id, and search attributes for its run and, where it has one, its version.
 */

import { searchAttributes } from '../../contract/messages.ts'
import { priorityOf, workflowTaskTimeout } from '../../contract/task-queues.ts'
import { fleetShare, type TrainingState } from '../../contract/training-state.ts'
import { workflowIdOf } from '../../identity/identity.ts'
import type { Place } from '../page/links.ts'

/** Id and options of the workflow that starts from a state. */
export function trainingStart(state: TrainingState, { home }: Place) {
  const workflowId = workflowIdOf(home, state.run)
  return {
    workflowId,
    workflowTaskTimeout,
    priority: priorityOf('training', state.run, fleetShare(state)),
    args: [state] as [TrainingState],
    staticSummary: `training run ${state.run}`,
    typedSearchAttributes: [
      { key: searchAttributes.run, value: workflowId },
      // The state holds all that the execution before received, so its version is current.
      ...(state.step > 0 ? [{ key: searchAttributes.version, value: state.version }] : []),
    ],
  }
}
