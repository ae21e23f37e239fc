/**
 * Dispatch: whether an activity runs in this process (local activity) or on its role's task queue.
 *
 * Invariants
 * - This is the one place that decides; workflows read the same in both modes.
 * - Every proxy carries a limit per attempt and one for the whole sequence, with the reason.
 */
import {
  type ActivityInterfaceFor,
  type LocalActivityInterfaceFor,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow'
import type { EnvironmentActivities } from '../activities/environment.ts'
import type { EvaluationActivities } from '../activities/evaluation.ts'
import type { RunActivities } from '../activities/run.ts'
import type { SamplingActivities } from '../activities/sampling.ts'
import type { TrainingActivities } from '../activities/training.ts'
import type { TrajectoryActivities } from '../activities/trajectory.ts'
import { taskQueues } from './task-queues.ts'

type Dispatch = 'local' | 'server'

const retry = {
  initialInterval: '200 milliseconds', // a locked store or a restarting engine is back within a blink
  backoffCoefficient: 3,
  maximumInterval: '30 seconds',
} as const

const limits = {
  startToCloseTimeout: '5 minutes', // the longest turn on the slowest engine we support
  scheduleToCloseTimeout: '20 minutes', // after it the attempt counts as an infrastructure failure
  retry: { ...retry, maximumAttempts: 6 }, // results are stored under the turn's id, so a retry is safe
} as const

const localLimits = {
  ...limits,
  localRetryThreshold: '1 second', // a longer wait is a timer, so that the workflow task can end
} as const

/** Activities of one turn that any worker of the role may do. */
export function samplingActivities(dispatch: Dispatch): ActivityInterfaceFor<SamplingActivities> {
  return dispatch === 'local'
    ? (proxyLocalActivities<SamplingActivities>(
        localLimits,
      ) as LocalActivityInterfaceFor<SamplingActivities> & ActivityInterfaceFor<SamplingActivities>)
    : proxyActivities<SamplingActivities>({ ...limits, taskQueue: taskQueues.policy })
}

/**
 * Activities on an environment session.
 * @param queue the queue of the worker that holds the session; null asks any worker of the role
 */
export function environmentActivities(
  dispatch: Dispatch,
  queue: string | null,
): ActivityInterfaceFor<EnvironmentActivities> {
  if (dispatch === 'local')
    return proxyLocalActivities<EnvironmentActivities>(
      localLimits,
    ) as LocalActivityInterfaceFor<EnvironmentActivities> & ActivityInterfaceFor<EnvironmentActivities>
  return queue === null
    ? proxyActivities<EnvironmentActivities>({ ...limits, taskQueue: taskQueues.environment })
    : proxyActivities<EnvironmentActivities>({
        ...limits,
        taskQueue: queue,
        scheduleToStartTimeout: '20 seconds', // that worker polls this queue all the time; silence is its death
      })
}

/** Sealing and recording: small writes to the store. */
export function trajectoryActivities(dispatch: Dispatch): ActivityInterfaceFor<TrajectoryActivities> {
  return dispatch === 'local'
    ? (proxyLocalActivities<TrajectoryActivities>(
        localLimits,
      ) as LocalActivityInterfaceFor<TrajectoryActivities> & ActivityInterfaceFor<TrajectoryActivities>)
    : proxyActivities<TrajectoryActivities>({ ...limits, taskQueue: taskQueues.environment })
}

/** Updates of the policy; always through the server, so that the UI shows them with their heartbeats. */
export const trainingActivities = proxyActivities<TrainingActivities>({
  taskQueue: taskQueues.trainer,
  startToCloseTimeout: '12 hours', // one chunk of a warm start of a large policy
  scheduleToCloseTimeout: '7 days', // a trainer may be away over a long weekend
  heartbeatTimeout: '1 minute', // the trainer reports each micro-batch; silence is a dead worker
  retry: { ...retry, maximumAttempts: 20 }, // the update's id finds its finished checkpoint
})

/** Opening, publishing and recording of a run. */
export const runActivities = proxyActivities<RunActivities>({
  taskQueue: taskQueues.policy,
  startToCloseTimeout: '10 minutes', // loading a checkpoint of a large policy
  scheduleToCloseTimeout: '1 day', // the policy worker may be restarted meanwhile
  retry: { ...retry, maximumAttempts: 20 },
})

/** Results of evaluations: small writes to the store. */
export const evaluationActivities = proxyActivities<EvaluationActivities>({
  taskQueue: taskQueues.policy,
  startToCloseTimeout: '1 minute', // one small write
  scheduleToCloseTimeout: '1 day', // the store may be away meanwhile
  retry: { ...retry, maximumAttempts: 50 },
})
