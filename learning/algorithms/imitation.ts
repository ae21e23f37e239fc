/**
 * Imitation of what was won: the negative log-likelihood of the action tokens of won episodes, beside a policy loss or alone.
 * Source: self-imitation learning, arXiv 1806.05635; alone it is expert iteration on the policy's own successes, the baseline
 * that a policy loss has to beat.
 *
 * Invariants
 * - [IMITATION-1] Only tokens of won episodes count, all together as much as the coefficient says, however many there are.
 * - [IMITATION-2] Alone, nothing else counts: an advantage of 1 for each won episode, of 0 for the others.
 */

import { fullReward, isSuccess } from '../evaluation/reward.ts'
import { type LossAggregation, tokenWeights } from '../loss/loss-aggregation.ts'
import type { Algorithm } from './algorithm.ts'
import { grpo } from './grpo.ts'

/** Imitation alone: what is won counts by `imitationWeights`, and the policy loss has no weight. */
export const imitation: Algorithm = {
  ...grpo,
  name: 'imitation',
  advantagesOf: (groups) => groups.map(({ episodes }) => episodes.map(({ success }) => (success ? 1 : 0))),
}

/** The rules of learning that decide about imitation; names as in the configuration. */
export interface ImitationRules {
  /** `imitation`: no policy loss. */
  readonly algorithm: string
  readonly imitation: {
    /** Weight beside the policy loss; 0: none. */
    readonly coefficient: number
  }
  readonly lossAggregation: LossAggregation
}

/** Whether nothing else is learnt from. */
export function imitatesAlone({ algorithm }: Pick<ImitationRules, 'algorithm'>): boolean {
  return algorithm === imitation.name
}

/** Whether anything is imitated. */
export function imitates(rules: Pick<ImitationRules, 'algorithm' | 'imitation'>): boolean {
  return imitatesAlone(rules) || rules.imitation.coefficient > 0
}

/** A group with what its episodes earned. */
interface EarnedGroup {
  readonly task: string
  /** [group] */
  readonly rewards: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  readonly atLeast?: number
  readonly replayWeight?: number
}

/**
 * The weight in the loss of the negative log-likelihood of each action token of an episode. Alone the coefficient is 1.
 * @returns [groups][group], same order; all 0 where nothing was won or nothing is imitated
 * @example imitationWeights([{ task: 'db', rewards: [1, 0], actionTokens: [4, 9] }],
 *   { algorithm: 'grpo', imitation: { coefficient: 0.2 }, lossAggregation: 'token' }) // [[0.05, 0]]
 */
export function imitationWeights(groups: readonly EarnedGroup[], rules: ImitationRules): number[][] {
  const coefficient = imitatesAlone(rules) ? 1 : rules.imitation.coefficient
  const won = groups.map(({ task, rewards, atLeast = fullReward, actionTokens, replayWeight }) => ({
    task,
    weight: replayWeight,
    actionTokens: actionTokens.map((length, sample) =>
      isSuccess(rewards[sample] ?? 0, { atLeast }) ? length : 0,
    ),
    inLoss: coefficient > 0,
  }))
  return tokenWeights(won, rules.lossAggregation).map((group) => group.map((weight) => coefficient * weight))
}
