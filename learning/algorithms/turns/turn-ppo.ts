/**
 * Turn-PPO: a turn is the action of a Markov decision process, and V(s) of its context is learnt. With γ = `learning.stepGroups.discount`,
 * δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ), Aₜ = δₜ + γλ·Aₜ₊₁, V after the last turn being 0; the advantages of all action tokens of the batch are normalized
 * together, the loss is the clipped one, and V is fitted to Aₜ + V(sₜ) (`learning/loss/value-head.ts`). The values of an update are those of the
 * checkpoint that it starts from, so that no episode is judged by what was learnt from it.
 * Source: arXiv 2512.17008, known here from its abstract and summaries: the turn-level process, a learnt critic, GAE over turns with λ = 0.9.
 * Ours: V is a head on the policy's own hidden state at the turn's last prompt token, where the paper trains a second model; a ratio for each token,
 * where the paper clips turns; episodes without turns, as step groups compare them, have GRPO's advantage; a group of equal rewards teaches too, because V may have expected something else.
 *
 * By hand, γ = 1 and λ = 0.9: two turns are paid 0 and 1, with V 0.5 and 0.8. δ = [0.8 − 0.5, 1 − 0.8] = [0.3, 0.2], A = [0.3 + 0.9·0.2, 0.2] =
 * [0.48, 0.2], and V is fitted to [0.98, 1].
 */
import type { Algorithm, ComparedEpisode } from '../algorithm.ts'
import { grpo } from '../grpo.ts'
import { tracedAdvantages, valuedTurns } from './turn-values.ts'

const decay = 0.9

export const turnPpo: Algorithm = {
  ...grpo,
  name: 'turn_ppo',
  comparesTurns: true,
  ignoresRewards: true,
  normalizesBatch: true,
  valueTargetsOf: (episode, { discount }) => turnEstimates(episode, discount).targets,
  advantagesOf: (groups, { discount }) =>
    groups.map((group) => {
      const [ofEpisodes = []] = grpo.advantagesOf([group], { discount })
      return group.episodes.map((episode, sample) =>
        episode.turns.length === 0 ? (ofEpisodes[sample] ?? 0) : turnEstimates(episode, discount).advantages,
      )
    }),
}

/**
 * Advantages of an episode's turns, and what their values are fitted to.
 * @returns [turns] each
 */
function turnEstimates(
  episode: ComparedEpisode,
  discount: number,
): { readonly advantages: readonly number[]; readonly targets: readonly number[] } {
  const rewards = valuedTurns(episode, discount).map(({ reward }) => reward)
  const values = episode.turns.map(({ value = 0 }) => value)
  const advantages = tracedAdvantages(rewards, values, { discount, decay })
  return { advantages, targets: advantages.map((advantage, turn) => advantage + (values[turn] ?? 0)) }
}
