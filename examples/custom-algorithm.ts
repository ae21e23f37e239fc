/** `learning.algorithm: ./custom-algorithm.ts` in a configuration beside it. */
import type { Algorithm } from 'perdure'

export const algorithm: Algorithm = {
  name: 'brief-median',
  /** Better than the median of its group, less for long episodes. */
  advantagesOf: (groups) =>
    groups.map(({ episodes }) => {
      const sorted = episodes.map(({ reward }) => reward).sort((a, b) => a - b)
      const median = sorted[Math.floor(sorted.length / 2)] ?? 0
      return episodes.map(({ reward, turns }) => (reward - median) / Math.sqrt(turns.length))
    }),
  loss: {
    /** Smooth in the ratio instead of clipped: L = −A · tanh(log r), with ∂L/∂logp. */
    lossesOf: (tokens) =>
      tokens.map(({ logprob, proximalLogprob, advantage }) => {
        const y = Math.tanh(logprob - proximalLogprob)
        return { loss: -advantage * y, derivative: -advantage * (1 - y ** 2) }
      }),
  },
  /** A minibatch far from what was sampled changes nothing. */
  rejects: ({ kl }) => kl > 0.1,
}
