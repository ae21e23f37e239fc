/**
 * GRPO: an episode's advantage is its reward against its group, A = (R − m) / (s + 1e-6), with the mean m and the unbiased standard
 * deviation s of the group's rewards. The loss of a token is PPO's with a dual clip: with r = π / π_behaviour,
 * L = max(−A r, −A clip(r, 1 − ε_low, 1 + ε_high)), at most −c·A where A < 0.
 * Source: arXiv 2402.03300, as used by arXiv 2510.04206.
 */
import { clippedLoss } from '../loss/objective.ts'
import type { Algorithm } from './algorithm.ts'
import { byReward, centredRewards, deviationFloor, unbiasedDeviation } from './group-rewards.ts'

export const grpo: Algorithm = {
  name: 'grpo',
  advantagesOf: byReward((rewards) => {
    const centred = centredRewards(rewards)
    const factor = 1 / (unbiasedDeviation(centred) + deviationFloor)
    return centred.map((value) => value * factor)
  }),
  loss: {
    lossesOf: (tokens, bounds) =>
      tokens.map(({ logprob, proximalLogprob, advantage }) =>
        clippedLoss({ logprob, behaviourLogprob: proximalLogprob, advantage }, bounds),
      ),
  },
}
