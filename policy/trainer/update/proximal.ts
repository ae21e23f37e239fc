/**
 * The decoupled objective: ratios are to the policy that an update starts from, and how far that is from the policy that sampled is a
 * weight of its own, truncated. Source: decoupled PPO, arXiv 2110.00641, as in arXiv 2505.24298; the truncated importance weight alone
 * where an update is one optimizer step, since its ratios are 1.
 *
 * Invariants
 * - [PROXIMAL-1] A token's loss is min(π_start / π_behaviour, limit) times that of the same rule with the starting policy's
 *   log-probabilities as behaviour: the losses that come with Perdure are homogeneous in the advantage, so the weight is part of it.
 */
import { truncatedImportance } from '../../../learning/loss/objective.ts'
import type { ProximalBatch, UpdateBatch } from '../batch.ts'
import type { TokenFigures } from './token-figures.ts'

/**
 * A batch whose ratios are to the policy that an update starts from.
 * @param atStart figures of its tokens under that policy
 * @param rule the largest weight of a token, and which tokens are weighed, by their places in the batch
 */
export function aroundStart(
  batch: UpdateBatch,
  { logRatios }: Pick<TokenFigures, 'logRatios'>,
  {
    limit,
    isWeighed = () => true,
  }: { readonly limit: number; readonly isWeighed?: (source: number) => boolean },
): ProximalBatch {
  const { behaviourLogprobs } = batch
  const proximalLogprobs = behaviourLogprobs.map((logprob, place) => logprob + logRatios[place]!)
  const advantages = batch.advantages.map((advantage, place) =>
    isWeighed(place)
      ? advantage * truncatedImportance(proximalLogprobs[place]!, behaviourLogprobs[place]!, limit)
      : advantage,
  )
  return { ...batch, advantages, proximalLogprobs }
}
