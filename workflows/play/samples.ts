/**
 * Samples of a group, an evaluation or a branch, played beside one another.
 *
 * Invariants
 * - They are started in their order, and no more are being played than asked for.
 * - After a fault or a cancellation no sample is started, and the started ones are waited for: an episode seals its
 *   trajectory before its parent ends.
 */
import { condition, isCancellation } from '@temporalio/workflow'
import type { EpisodeLoss } from '../../contract/episode-loss.ts'
import type { EpisodePlan, EpisodeResult } from '../../contract/messages.ts'
import { playSample, type Sample } from './attempts.ts'

/** A sample, and what it plays. */
export interface PlannedSample extends Sample {
  readonly plan: Omit<EpisodePlan, 'episode'>
}

interface Playing {
  /** How many are played at once; all of them by default. */
  readonly atOnce?: number
  /** Asked before each sample; false starts no more. */
  readonly mayStart?: () => boolean
  /** Called for each sample as it ends; null where no attempt ended with a reward. */
  readonly ended: (sample: number, result: EpisodeResult | null) => void
  /** Called for each attempt that the environment's own code has failed. */
  readonly onLoss?: (loss: EpisodeLoss) => void
}

/**
 * Waits until all started samples have ended.
 * @returns how many were started
 * @throws the first fault, rather than the cancellation of another sample
 */
export async function playSamples(
  samples: Iterable<PlannedSample>,
  { atOnce = Number.POSITIVE_INFINITY, mayStart = () => true, ended, onLoss }: Playing,
): Promise<number> {
  const faults: unknown[] = []
  const played: Promise<void>[] = []
  let running = 0
  const play = async ({ plan, ...of }: PlannedSample) => {
    running += 1
    try {
      ended(of.sample, await playSample(of, plan, onLoss))
    } catch (error) {
      faults.push(error)
    } finally {
      running -= 1
    }
  }
  try {
    for (const sample of samples) {
      if (running >= atOnce) await condition(() => running < atOnce || faults.length > 0)
      if (faults.length > 0 || !mayStart()) break
      played.push(play(sample))
    }
  } finally {
    await Promise.all(played)
  }
  if (faults.length > 0) throw faults.find((fault) => !isCancellation(fault)) ?? faults[0]
  return played.length
}
