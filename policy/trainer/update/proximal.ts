/**
 * The decoupled objective: ratios are to the policy that an update starts from, and how far that is from the policy that sampled is a
 * weight of its own, truncated. Source: decoupled PPO, arXiv 2110.00641, as in arXiv 2505.24298; the truncated importance weight alone
 * where an update is one optimizer step, since its ratios are 1.
 *
 * Invariants
 * - [PROXIMAL-1] A token's advantage is weighed by min(π_start / π_behaviour, limit), and so is its loss, where that is homogeneous in
 *   the advantage, as those that come with Perdure are; ratios are to the starting policy.
 */
import { truncatedImportance } from '../../../learning/loss/objective.ts'
import type { ProximalBatch, UpdateBatch } from '../batch.ts'
import type { TokenFigures } from './token-figures.ts'

/**
 * A batch whose ratios are to the policy that an update starts from.
 * @param atStart figures of its tokens under that policy
 * @param limit the largest weight of a token
 */
export function aroundStart(
  batch: UpdateBatch,
  { logRatios }: Pick<TokenFigures, 'logRatios'>,
  { limit }: { readonly limit: number },
): ProximalBatch {
  const { behaviourLogprobs } = batch
  const proximalLogprobs = behaviourLogprobs.map((logprob, place) => logprob + logRatios[place]!)
  const advantages = batch.advantages.map(
    (advantage, place) =>
      advantage * truncatedImportance(proximalLogprobs[place]!, behaviourLogprobs[place]!, limit),
  )
  return { ...batch, advantages, proximalLogprobs }
}
