/**
 * Attempts: playing one sample until an episode ends with a reward.
 *
 * Invariants
 * - An infrastructure failure leads to a new attempt under a new id, never to a result.
 * - Cancellation is passed on, never taken for a failure.
 */
import { ChildWorkflowFailure, executeChild, isCancellation, log, sleep } from '@temporalio/workflow'
import { episodeId, type ParentId } from '../identity.ts'
import { isRewarded } from '../learning/outcome.ts'
import { episodeFacts, episodeSummary } from './details.ts'
import { episodeQueue } from './dispatch.ts'
import { episode } from './episode.ts'
import { reasonOf } from './failure-reason.ts'
import { type EpisodePlan, type EpisodeResult, searchAttributes } from './messages.ts'
import { here, idHere } from './place.ts'
import { workflowTaskTimeout } from './task-queues.ts'

/** Which sample of which group, evaluation or branch, and how often to try. */
export interface Sample {
  readonly parent: ParentId
  readonly sample: number
  /** The first that was not tried before; 0 by default. */
  readonly firstAttempt?: number
  readonly maxAttempts: number
  /** Policy version that the search attribute shows. */
  readonly version: number
}

/** @returns the first attempt that ended with a reward; null when none of them did */
export async function playSample(
  of: Sample,
  plan: Omit<EpisodePlan, 'episode'>,
): Promise<EpisodeResult | null> {
  const { firstAttempt = 0 } = of
  for (let tried = 0; tried < of.maxAttempts; tried++) {
    const attempt = firstAttempt + tried
    const result = await playAttempt(of, attempt, plan)
    if (result !== null && isRewarded(result.outcome)) return result
    log.warn('episode ended without reward', { parent: of.parent, sample: of.sample, attempt })
    await sleep(1000 * 2 ** tried) // the fault may be a restart that is still going on
  }
  return null
}

/** One attempt; null when its workflow failed. */
async function playAttempt(
  of: Sample,
  attempt: number,
  plan: Omit<EpisodePlan, 'episode'>,
): Promise<EpisodeResult | null> {
  const id = episodeId(of.parent, of.sample, attempt)
  try {
    const taskQueue = episodeQueue(plan.dispatch)
    const own: EpisodePlan = { ...plan, episode: id }
    return await executeChild(episode, {
      workflowId: idHere(id),
      ...(taskQueue === undefined ? {} : { taskQueue }),
      workflowTaskTimeout,
      args: [own],
      staticSummary: episodeSummary(own),
      staticDetails: episodeFacts(own, here()),
      typedSearchAttributes: [
        { key: searchAttributes.run, value: idHere(plan.run) },
        { key: searchAttributes.task, value: plan.task },
        { key: searchAttributes.group, value: idHere(of.parent) },
        { key: searchAttributes.version, value: of.version },
      ],
    })
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ChildWorkflowFailure)) throw error
    log.warn('episode failed', { episode: id, reason: reasonOf(error) })
    return null
  }
}
