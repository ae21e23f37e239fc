/**
 * Attempts: playing one sample until an episode ends with a reward.
 *
 * Invariants
 * - An infrastructure failure leads to a new attempt under a new id, never to a result. So does an episode that was
 *   ended from outside; it is sealed in its place.
 * - An episode that an earlier execution of the parent left is waited for, not played beside.
 * - Cancellation of the parent is passed on, never taken for a failure; its episodes end with it, in their own order.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  CancellationScope,
  ChildWorkflowFailure,
  executeChild,
  log,
  ParentClosePolicy,
  sleep,
} from '@temporalio/workflow'
import type { EpisodeLoss } from '../../contract/episode-loss.ts'
import { type EpisodePlan, type EpisodeResult, searchAttributes } from '../../contract/messages.ts'
import { workflowTaskTimeout } from '../../contract/task-queues.ts'
import { episodeId, type ParentId } from '../../identity/identity.ts'
import { isRewarded } from '../../learning/evaluation/outcome.ts'
import { episodeQueue, sealingActivities } from '../calls/dispatch.ts'
import { reasonOf } from '../calls/failure-reason.ts'
import { episodeFacts, episodeSummary } from '../page/details.ts'
import { here, idHere } from '../page/place.ts'
import { episode } from './episode.ts'

/** Which sample of which group, evaluation or branch, and how often to try. */
export interface Sample {
  readonly parent: ParentId
  readonly sample: number
  /** The first attempt that was not made before; 0 by default. */
  readonly firstAttempt?: number
  readonly maxAttempts: number
  /** Policy version that the search attribute shows. */
  readonly version: number
}

/**
 * @param onLoss called for each attempt that the environment's own code has failed
 * @returns the first attempt that ended with a reward; null when none of them did
 */
export async function playSample(
  of: Sample,
  plan: Omit<EpisodePlan, 'episode'>,
  onLoss?: (loss: EpisodeLoss) => void,
): Promise<EpisodeResult | null> {
  const { firstAttempt = 0 } = of
  for (let tried = 0; tried < of.maxAttempts; tried++) {
    const attempt = firstAttempt + tried
    const result = await playAttempt(of, attempt, plan)
    if (result !== null && isRewarded(result.outcome)) return result
    if (result?.loss !== undefined) onLoss?.(result.loss)
    log.warn('episode ended without reward', { parent: of.parent, sample: of.sample, attempt })
    await sleep(waitMs(tried)) // the fault may be a restart that is still in progress
  }
  return null
}

/** Doubled with each attempt, up to some minutes: a fault that lasts for hours is looked at again and again. */
function waitMs(tried: number): number {
  return 1000 * 2 ** Math.min(tried, 8)
}

/** One attempt; null when its workflow ended without a result. */
async function playAttempt(
  of: Sample,
  attempt: number,
  plan: Omit<EpisodePlan, 'episode'>,
): Promise<EpisodeResult | null> {
  const own: EpisodePlan = { ...plan, episode: episodeId(of.parent, of.sample, attempt) }
  try {
    return await playEpisode(of, own)
  } catch (error) {
    const isOwnCancellation = CancellationScope.current().consideredCancelled
    if (isOwnCancellation || !(error instanceof ChildWorkflowFailure)) throw error
    const failure = reasonOf(error)
    log.warn('episode failed', { episode: own.episode, reason: failure })
    const { episode, run, taskIndex } = own
    const outcome = 'infrastructure_error'
    await sealingActivities.sealTrajectory({ episode, run, taskIndex, outcome, reward: 0, failure })
    return null
  }
}

/** Plays an episode once no earlier execution of it is in progress, whose result it then has. */
async function playEpisode(of: Sample, own: EpisodePlan): Promise<EpisodeResult> {
  for (let waited = 0; ; waited++) {
    try {
      return await executeEpisode(of, own)
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      log.info('an earlier execution of the episode is still ending', { episode: own.episode })
      await sleep(waitMs(waited))
    }
  }
}

function executeEpisode(of: Sample, own: EpisodePlan): Promise<EpisodeResult> {
  const taskQueue = episodeQueue(own.dispatch)
  return executeChild(episode, {
    workflowId: idHere(own.episode),
    ...(taskQueue === undefined ? {} : { taskQueue }),
    workflowTaskTimeout,
    args: [own],
    // Terminated with its parent it would leave its session open and its trajectory without an end.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    staticSummary: episodeSummary(own),
    staticDetails: episodeFacts(own, here()),
    typedSearchAttributes: [
      { key: searchAttributes.run, value: idHere(own.run) },
      { key: searchAttributes.task, value: own.task },
      { key: searchAttributes.group, value: idHere(of.parent) },
      { key: searchAttributes.version, value: of.version },
    ],
  })
}
