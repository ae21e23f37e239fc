/**
 * HGPO, hierarchy of groups: a turn is compared with the turns of its group that share its state, with those that share its last states
 * too, and so on. With the advantage A₀ of the episode and Aₖ among the turns that share the last k states, k = 1 … K + 1, each by GRPO's
 * (x − m) / (s + 1e-6) over returns, A = Σ wₖ·Aₖ and wₖ = (k + 1)^α / Σ (k + 1)^α: the deeper the agreement, the more a comparison counts.
 * A level whose advantage is 0, as where no other turn shares so much, stays out of both sums. γ is `learning.stepGroups.discount`.
 * Source: arXiv 2602.22817 with K = 2 and α = 1, and its code for the level of the episode and for levels of 0. Chosen here: the level of
 * the episode is always there, so that a turn whose state occurs once has its advantage; the unbiased deviation; returns as in
 * step groups ([STEP-GROUPS-3]). Level 1 is the comparison of step groups.
 *
 * By hand, γ = 1: episodes a→b and a→b are paid 1 and 0: their A₀ are ±0.7071. The turns in b share b, and a→b: A₁ = A₂ = ±0.7071,
 * w = 1/6, 2/6, 3/6, so A = ±0.7071. With another first state d in the second, only b is shared: w = 1/3, 2/3.
 */
import type { Algorithm, ComparedTurn } from '../algorithm.ts'
import { grpo } from '../grpo.ts'
import { stepAdvantages } from '../step-groups.ts'
import { negligible, turnAdvantages } from './turn-values.ts'

/** K, states before the present one that the deepest level compares. */
const depth = 2
/** α */
const emphasis = 1

export const hgpo: Algorithm = {
  ...grpo,
  name: 'hgpo',
  comparesTurns: true,
  advantagesOf: (groups, { discount }) =>
    groups.map((group) => {
      const levels = Array.from({ length: depth + 1 }, (_, before) => {
        const stepped = group.episodes.map(({ keepsPay, turns }) => ({
          keepsPay,
          steps: turns.map(({ reward }, turn) => ({ state: lastStates(turns, turn, before), paid: reward })),
        }))
        return stepAdvantages(stepped, { discount }, grpo)
      })
      return turnAdvantages(group, grpo, (sample, turn, ofEpisode) =>
        weighedLevels([ofEpisode, ...levels.map((level) => level[sample]?.[turn] ?? 0)]),
      )
    }),
}

/** Names the state of a turn with those before it; undefined where one of them is unknown, or before the episode began. */
function lastStates(turns: readonly ComparedTurn[], turn: number, before: number): string | undefined {
  const states = turns.slice(Math.max(0, turn - before), turn + 1).map(({ state }) => state)
  return states.length <= before || states.includes(undefined) ? undefined : JSON.stringify(states)
}

/** @param levels advantages, the broadest comparison first @example weighedLevels([1, 0.5, 0]) // (1·1 + 2·0.5)/3 */
function weighedLevels(levels: readonly number[]): number {
  const spoken = levels.flatMap((advantage, level) =>
    Math.abs(advantage) < negligible ? [] : [{ advantage, weight: (level + 1) ** emphasis }],
  )
  const whole = spoken.reduce((sum, { weight }) => sum + weight, 0)
  return spoken.reduce((sum, { advantage, weight }) => sum + (weight / whole) * advantage, 0)
}
