/**
 * CISPO: the clipped ratio r = π / π_behaviour is a constant weight of the token's log-probability, so that no token loses its
 * gradient: L = −sg(clip(r, 1 − ε_low, 1 + ε_high)) · A · logp. Advantages are those of GRPO.
 * Source: arXiv 2506.13585.
 *
 * Invariants
 * - [CISPO-1] A token beyond the clip keeps its gradient, with the clipped weight.
 */
import { clip } from '../../loss/objective.ts'
import type { Algorithm } from '../algorithm.ts'
import { grpo } from '../grpo.ts'

export const cispo: Algorithm = {
  ...grpo,
  name: 'cispo',
  loss: {
    lossesOf: (tokens, bounds) =>
      tokens.map(({ logprob, proximalLogprob, advantage }) => {
        const ratio = Math.exp(logprob - proximalLogprob)
        const weight = clip(ratio, bounds)
        return {
          loss: -weight * advantage * logprob,
          derivative: -weight * advantage,
          clipped: weight !== ratio,
        }
      }),
  },
}
