/**
 * Branch: samples that play on from one turn of a recorded episode, to debug it or to search from there.
 *
 * Invariants
 * - Its episodes are its own: no update, group or evaluation ever counts them.
 * - A sample is played once per identity; asking for more samples plays only those that are missing.
 */
import { setCurrentDetails } from '@temporalio/workflow'
import type { BranchPlan, EpisodeResult } from '../../contract/messages.ts'
import { describeBranch, type WithoutResult } from '../page/details.ts'
import { here } from '../page/place.ts'
import { playSamples } from './samples.ts'

/** Plays the samples at once. @returns their results; null where no attempt ended with a reward */
export async function branch(plan: BranchPlan): Promise<readonly (EpisodeResult | null)[]> {
  const results = new Map<number, EpisodeResult | null>()
  const place = here()
  const tell = (without?: WithoutResult) => setCurrentDetails(describeBranch(plan, results, place, without))
  tell()
  const { maxAttempts, version, branch: parent } = plan
  const samples = plan.samples.map(({ sample, attempt: firstAttempt }) => ({
    ...{ parent, sample, firstAttempt, maxAttempts, version },
    plan: plan.episode,
  }))
  await playSamples(samples, {
    ended: (sample, result) => {
      results.set(sample, result)
      tell()
    },
  })
  tell('no result')
  return samples.map(({ sample }) => results.get(sample) ?? null)
}
