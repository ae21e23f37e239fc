/**
 * GAGPO: generalized advantage estimation along each episode, with the group in the place of a critic. V(s) is the mean return of the
 * group's turns in the state s, δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ), Aₜ = δₜ + γλ·Aₜ₊₁, and the advantages of a group are standardized over its
 * turns. γ is `learning.stepGroups.discount`. The advantage of the whole episode is not added: it is in the returns.
 * Source: arXiv 2605.13217. Chosen here: λ = 0.95; the loss is GRPO's, with a ratio for each token, not for each action.
 *
 * By hand, γ = 1 and λ = 1, without the standardization: episodes a→b and a→c are paid 1 and 0 at their ends. V(a) = 1/2, V(b) = 1,
 * V(c) = 0: δ = [1/2, 0] and [−1/2, 0], which is A.
 */
import type { Algorithm } from '../algorithm.ts'
import { grpo } from '../grpo.ts'
import {
  estimatedAdvantages,
  meanReturns,
  standardized,
  traceDecay,
  turnAdvantages,
  valuedTurns,
} from './turn-values.ts'

export const gagpo: Algorithm = {
  ...grpo,
  name: 'gagpo',
  comparesTurns: true,
  advantagesOf: (groups, { discount }) =>
    groups.map((group) => {
      const episodes = group.episodes.map((episode) => valuedTurns(episode, discount))
      const values = meanReturns(episodes)
      const estimated = episodes.map((turns) =>
        estimatedAdvantages(turns, values, { discount, decay: traceDecay }),
      )
      const ofTurns = standardized(group, estimated)
      return turnAdvantages(group, grpo, (sample, turn) => ofTurns[sample]?.[turn] ?? 0)
    }),
}
