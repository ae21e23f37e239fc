/**
 * GSPO-token: the tokens of an episode share one ratio, the geometric mean of theirs, s = exp(mean(logp − behaviour)), and each keeps
 * its own advantage: s_t = sg(s) · π_t / sg(π_t), L_t = max(−A_t s_t, −A_t clip(s_t)). s_t equals s, and its derivative in its own
 * logprob is s. Where all advantages of an episode are equal and its tokens count alike, the gradient is that of GSPO's sequence
 * form. Advantages are those of GRPO; all episodes count alike.
 * Source: arXiv 2507.18071, section 4.3.
 */
import { clip } from '../../loss/objective.ts'
import type { Algorithm } from '../algorithm.ts'
import { grpo } from '../grpo.ts'

export const gspo: Algorithm = {
  ...grpo,
  name: 'gspo',
  loss: {
    lossesOf(tokens, bounds) {
      const logRatios = tokens.map(({ logprob, proximalLogprob }) => logprob - proximalLogprob)
      const ratio = Math.exp(logRatios.reduce((sum, logRatio) => sum + logRatio, 0) / tokens.length)
      return tokens.map(({ advantage }) => {
        const free = -advantage * ratio
        const bounded = -advantage * clip(ratio, bounds)
        const clipped = free < bounded
        return { loss: clipped ? bounded : free, derivative: clipped ? 0 : free, clipped }
      })
    },
  },
}
