/**
 * On-policy distillation: the policy plays, and each of its tokens is graded by a teacher (`learning.teacher`). The advantage of a token is
 * A_t = logp_teacher − logp, a constant, so that the expected gradient is that of the reverse divergence KL(π ‖ teacher) at each
 * position; the loss of a token is the clipped one with it. Rewards are not read, and every group teaches.
 * Source: GKD, arXiv 2306.13649, in the form of K. Lu and Thinking Machines Lab, On-Policy Distillation (2025). Ours: A_t is taken from the
 * policy as it is at the step rather than from the one that sampled, and with `learning.proximal: start` there is no importance weight.
 *
 * Invariants
 * - [DISTILLATION-1] A token that both find equally likely has no gradient, and one that the teacher finds likelier gains.
 */
import { clippedLoss } from '../../loss/objective.ts'
import type { Algorithm } from '../algorithm.ts'

export const distillation: Algorithm = {
  name: 'distillation',
  advantagesOf: (groups) => groups.map(({ episodes }) => episodes.map(() => 1)),
  ignoresRewards: true,
  loss: {
    readsReference: true,
    lossesOf: (tokens, bounds) =>
      tokens.map(({ logprob, proximalLogprob, referenceLogprob = logprob }) =>
        clippedLoss(
          { logprob, behaviourLogprob: proximalLogprob, advantage: referenceLogprob - logprob },
          bounds,
        ),
      ),
  },
}
