/**
 * Dispatch: where an episode plays, and whether its actions are sampled in that process or through the server.
 *
 * An environment session lives in a process, so an episode plays where environments are, and steps them as
 * local activities: beside the run with local dispatch, else on any environment worker. When that worker dies
 * another takes the episode over and plays its recorded actions again.
 *
 * Invariants
 * - This is the one place that decides; workflows read the same in both modes.
 * - Every proxy carries a limit per attempt and one for the whole sequence, with the reason.
 */
import {
  ActivityCancellationType,
  type ActivityInterfaceFor,
  type ActivityOptions,
  type LocalActivityInterfaceFor,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow'
import type { AgentActivities } from '../../activities/agents/agent-play.ts'
import type { BranchActivities } from '../../activities/branches.ts'
import type { ChildrenActivities } from '../../activities/children.ts'
import type { EvaluationActivities } from '../../activities/evaluation.ts'
import type { ExperimentActivities } from '../../activities/experiments.ts'
import type { EnvironmentActivities } from '../../activities/play/environment.ts'
import type { SamplingActivities } from '../../activities/play/sampling.ts'
import type { TrajectoryActivities } from '../../activities/play/trajectory.ts'
import type { TurnActivities } from '../../activities/play/turns.ts'
import type { AuditActivities, RunActivities } from '../../activities/run.ts'
import type { TrainingActivities } from '../../activities/training.ts'
import type { AgentPlan } from '../../contract/messages.ts'
import type { QueueRole } from '../../contract/task-queues.ts'
import { queueHere } from '../page/place.ts'

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

/** An evaluation's turn may wait for the whole of an update's episodes before it is sampled. */
const yieldingLimits = {
  ...limits,
  startToCloseTimeout: '2 hours', // the time in which a slow engine collects the groups of an update
  scheduleToCloseTimeout: '12 hours', // beyond a night something is wrong
} as const

/** Longest wait for a turn. */
interface TurnWait {
  /** Whether it yields to training. */
  readonly yields: boolean
  /** Time that models may take for one turn: the engine for its action, others for what the environment asks. */
  readonly answerSeconds: number
}

/** Time for the parts of a turn beside its action. */
const besideSeconds = 60

/** The limits of a turn; longer than usual where the configuration gives the engine longer. */
function turnLimits({ yields, answerSeconds }: TurnWait) {
  const own = yields ? yieldingLimits : limits
  if (answerSeconds <= 300) return own // what all of them allow
  const longest = answerSeconds + besideSeconds
  const several = 4 * longest // tries, as many as fit into the usual limits
  return yields && several <= 2 * 3600
    ? own
    : ({
        ...own,
        startToCloseTimeout: `${longest} seconds`,
        scheduleToCloseTimeout: `${several} seconds`,
      } as const)
}

/** Small writes that must not be given up: a full disk or a locked store may need a person. */
const writeLimits = {
  startToCloseTimeout: '1 minute', // one small write, on a disk that others use too
  scheduleToCloseTimeout: '7 days', // over a long weekend
  retry, // as often as it takes; what cannot succeed says so and is not tried again
} as const

const closeLimits = {
  startToCloseTimeout: '1 minute', // a session that hangs is left to end with its worker
  scheduleToCloseTimeout: '2 minutes', // the episode waits for it
  retry: { ...retry, maximumAttempts: 2 },
} as const

/** A longer wait between attempts of a local activity is a timer, so that the workflow task can end. */
const local = { localRetryThreshold: '1 second' } as const

/**
 * Activities that go through the server beat every few seconds while they are in progress. After this time another worker
 * gets the work of a dead one: a worker is back within 15 s, and a store that blocks it for 5 s is no death.
 */
const remote = { heartbeatTimeout: '10 seconds' } as const

/** Activities of the role's workers in the workflow's own home, which is known once the workflow runs. */
function onQueue<Activities>(
  role: QueueRole,
  options: Omit<ActivityOptions, 'taskQueue'>,
): ActivityInterfaceFor<Activities> {
  const proxied = () => proxyActivities<Activities>({ ...options, ...remote, taskQueue: queueHere(role) })
  return new Proxy({} as ActivityInterfaceFor<Activities>, { get: (_, name) => Reflect.get(proxied(), name) })
}

/** Activities of one turn that any worker of the role may do. */
export function samplingActivities(
  dispatch: Dispatch,
  wait: TurnWait,
): ActivityInterfaceFor<SamplingActivities> {
  const own = turnLimits(wait)
  return dispatch === 'local'
    ? (proxyLocalActivities<SamplingActivities>({
        ...own,
        ...local,
      }) as LocalActivityInterfaceFor<SamplingActivities> & ActivityInterfaceFor<SamplingActivities>)
    : onQueue<SamplingActivities>('policy', own)
}

/** Blocks of turns, of an episode that plays where both its environment and the engine are. */
export function blockActivities(wait: TurnWait) {
  return proxyLocalActivities<TurnActivities>({ ...turnLimits(wait), ...local })
}

/** An agent's own program, on a worker that samples: its requests are answered where it runs. */
export function agentActivities({ timeoutSeconds, turnLimit }: AgentPlan, wait: TurnWait) {
  const longest = Math.ceil(timeoutSeconds + turnLimit * wait.answerSeconds + besideSeconds)
  return onQueue<AgentActivities>('policy', {
    startToCloseTimeout: wait.yields ? '12 hours' : `${longest} seconds`, // its own seconds, and those of all its turns
    scheduleToCloseTimeout: '7 days', // the policy worker may be away over a long weekend
    retry: { ...retry, maximumAttempts: 20 }, // the turns that were answered are not sampled again
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED, // the program ends before the episode is sealed
  })
}

/** The queue on which an episode plays; undefined: its parent's. */
export function episodeQueue(dispatch: Dispatch): string | undefined {
  return dispatch === 'local' ? undefined : queueHere('environment')
}

/** An episode's activities on its environment session. */
export function environmentActivities(wait: Pick<TurnWait, 'answerSeconds'>) {
  return proxyLocalActivities<EnvironmentActivities>({ ...turnLimits({ ...wait, yields: false }), ...local })
}

/** Copying of the turns that an episode begins with. */
export const branchActivities = proxyLocalActivities<BranchActivities>({ ...limits, ...local })

/** Closing of an environment session, which nothing but the episode's end waits for. */
export const closingActivities = proxyLocalActivities<Pick<EnvironmentActivities, 'closeEnvironment'>>({
  ...closeLimits,
  ...local,
})

/** Sealing of an episode's trajectory: a small write to the store. */
export const sealingActivities = proxyLocalActivities<Pick<TrajectoryActivities, 'sealTrajectory'>>({
  ...writeLimits,
  ...local,
})

type GroupActivities = Pick<TrajectoryActivities, 'recordGroup' | 'findReports'>

/** The record of a group in the store: small writes and reads. */
export function groupActivities(dispatch: Dispatch): ActivityInterfaceFor<GroupActivities> {
  return dispatch === 'local'
    ? proxyLocalActivities<GroupActivities>({ ...writeLimits, ...local })
    : onQueue<GroupActivities>('environment', writeLimits)
}

/** Updates of the policy; always through the server, so that the UI shows them with their heartbeats. */
export const trainingActivities = onQueue<TrainingActivities>('trainer', {
  startToCloseTimeout: '12 hours', // one chunk of a warm start of a large policy
  scheduleToCloseTimeout: '7 days', // a trainer may be away over a long weekend
  retry: { ...retry, maximumAttempts: 20 }, // the update's id finds its finished checkpoint
})

/** Opening, publishing and recording of a run. */
export const runActivities = onQueue<RunActivities>('policy', {
  startToCloseTimeout: '10 minutes', // loading a checkpoint of a large policy
  scheduleToCloseTimeout: '7 days', // the policy worker may be away, or the disk full
  retry,
})

/** Results of evaluations: small writes to the store. */
export const evaluationActivities = onQueue<EvaluationActivities>('policy', writeLimits)

/** Runs of an experiment: small writes, and waits that end by themselves and begin again. */
export const experimentActivities = onQueue<ExperimentActivities>('policy', {
  startToCloseTimeout: '1 hour', // twice the longest wait
  scheduleToCloseTimeout: '30 days', // the machine of an experiment may be needed for something else
  retry,
})

/** How children of a run have ended; the wait for it ends by itself and begins again. */
export const childrenActivities = onQueue<ChildrenActivities>('policy', {
  startToCloseTimeout: '1 hour', // twice the longest wait
  scheduleToCloseTimeout: '7 days', // the policy worker may be away over a long weekend
  retry,
})

/**
 * The audit trail of a run: small writes to the store. Not local ones: orders come while other work is cancelled,
 * and in which order the end of a local activity and a cancellation reach the workflow differs on replay.
 */
export const auditActivities = onQueue<AuditActivities>('policy', writeLimits)
