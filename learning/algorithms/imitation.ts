/**
 * Imitation of the policy's own good episodes: the negative log-likelihood of their action tokens, beside a policy loss or alone.
 * Source: self-imitation learning, arXiv 1806.05635; alone it is expert iteration on the policy's own successes, or with `best`
 * on the best of each group: the baselines that a policy loss has to beat.
 *
 * Invariants
 * - [IMITATION-1] Only tokens of imitated episodes count, all together as much as the coefficient says, however many there are.
 * - [IMITATION-2] Alone, nothing else counts: the advantage of an episode is its share in imitation.
 */

import { fullReward, isSuccess } from '../evaluation/reward.ts'
import { type LossAggregation, tokenWeights } from '../loss/loss-aggregation.ts'
import type { Algorithm } from './algorithm.ts'
import { hasPreference } from './group-rewards.ts'
import { grpo } from './grpo.ts'

/** Which episodes are imitated: all successes, the best of each group whose rewards differ, or all by their rewards. */
export const imitationKinds = ['win', 'best', 'reward'] as const
export type ImitationKind = (typeof imitationKinds)[number]

/** Imitation alone: episodes count by `imitationWeights`, and the policy loss has no weight. */
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
    /** `win` where it is absent. */
    readonly by?: ImitationKind
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
 * How much each episode of a group is imitated, at least 0.
 * @example imitationShares([1, 2, -0.2], { by: 'best', atLeast: 1 }) // [0, 1, 0]; by 'win' [1, 1, 0], by 'reward' [1, 2, 0]
 */
export function imitationShares(
  rewards: readonly number[],
  { by = 'win', atLeast }: { readonly by?: ImitationKind | undefined; readonly atLeast: number },
): number[] {
  const highest = Math.max(...rewards)
  const shareOf: Record<ImitationKind, (reward: number) => number> = {
    win: (reward) => (isSuccess(reward, { atLeast }) ? 1 : 0),
    best: (reward) => (reward === highest && hasPreference(rewards) ? 1 : 0),
    reward: (reward) => Math.max(0, reward),
  }
  return rewards.map(shareOf[by])
}

/**
 * The weight in the loss of the negative log-likelihood of each action token of an episode. Alone the coefficient is 1.
 * @returns [groups][group], same order; all 0 where nothing is imitated
 * @example imitationWeights([{ task: 'db', rewards: [1, 0], actionTokens: [4, 9] }],
 *   { algorithm: 'grpo', imitation: { coefficient: 0.2 }, lossAggregation: 'token' }) // [[0.05, 0]]
 */
export function imitationWeights(groups: readonly EarnedGroup[], rules: ImitationRules): number[][] {
  const { by } = rules.imitation
  const coefficient = imitatesAlone(rules) ? 1 : rules.imitation.coefficient
  const shares = groups.map(({ rewards, atLeast = fullReward }) => imitationShares(rewards, { by, atLeast }))
  const imitated = groups.map(({ task, actionTokens, replayWeight }, index) => ({
    task,
    weight: replayWeight,
    actionTokens: actionTokens.map((length, sample) => ((shares[index]?.[sample] ?? 0) > 0 ? length : 0)),
    inLoss: coefficient > 0,
  }))
  const weights = tokenWeights(imitated, rules.lossAggregation)
  if (by !== 'reward') return weights.map((group) => group.map((weight) => coefficient * weight))
  const shared = weights.map((group, index) =>
    group.map((weight, sample) => weight * (shares[index]?.[sample] ?? 0)),
  )
  const total = shared.flatMap((group, index) =>
    group.map((weight, sample) => weight * (groups[index]?.actionTokens[sample] ?? 0)),
  )
  const scale = coefficient / total.reduce((sum, each) => sum + each, 0)
  return shared.map((group) => group.map((weight) => (weight > 0 ? weight * scale : 0)))
}
