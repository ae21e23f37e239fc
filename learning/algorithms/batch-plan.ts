/**
 * Batch plan: from the rewards and lengths of an update's groups to the advantage of every episode.
 *
 * Invariants
 * - [BATCH-PLAN-1] A group whose units all have the advantage 0 contributes nothing to the policy loss (except in the published
 *   arithmetic), and one with another advantage does, whatever its rewards.
 * - The order of groups and episodes is kept; the plan depends on nothing else than its input.
 * - Rules for advantages over tokens (moments, masses, weights) apply to the tokens of units (`batch-advantages.ts`).
 */

import { fullReward } from '../evaluation/reward.ts'
import { tokenWeights } from '../loss/loss-aggregation.ts'
import type { TurnAdvantage } from './algorithm.ts'
import { type BatchAdvantages, type BatchGroup, byEpisode, type Units } from './batch-advantages.ts'
import { hasPreference } from './group-rewards.ts'
import { type ImitationRules, imitatesAlone, imitationShares, imitationWeights } from './imitation.ts'
import { weighNegative } from './negative-weight.ts'
import {
  normalizeByTask,
  type TaskMoments,
  type TaskNormalization,
  tokenMoments,
  type WeighedGroup,
} from './task-normalization.ts'
import { massShares, type TaskWeighting, type WeightedGroup, weighTasks } from './task-weighting.ts'

/** How a batch is learnt from; names as in the configuration. */
export interface BatchRules extends ImitationRules {
  /** The weight of a negative advantage, beside 1 for a positive one. */
  readonly negativeWeight: number
  readonly taskNormalization: TaskNormalization
  readonly taskWeighting: TaskWeighting
  /** Weight of each task of the mix. */
  readonly taskWeights: Readonly<Record<string, number>>
}

export interface PlannedGroup {
  /** [group][1] of all action tokens of the episode, or [group][turns] */
  readonly advantages: readonly (readonly TurnAdvantage[])[]
  /** [group] what each action token of the episode counts in the policy loss; over the batch they add up to 1, or are all 0. */
  readonly tokenWeights: readonly number[]
  /** [group] what the negative log-likelihood of each action token of the episode counts besides. */
  readonly imitationWeights: readonly number[]
  /** [group] false: the episode stays out of the batch, its loss and its token count. */
  readonly inBatch: readonly boolean[]
}

/** The figures of a task in a batch. */
export interface PlannedTask {
  /** Moments of the group advantages over the action tokens of groups with preference, by which `per_task` normalizes. */
  readonly moments: TaskMoments
  /** The share of Σ w·|A| over all action tokens, where w is the weight of a token in the loss. */
  readonly gradientShare: number
}

export interface BatchPlan {
  /** [groups], same order. */
  readonly groups: readonly PlannedGroup[]
  /** Each task that has a group. */
  readonly tasks: ReadonlyMap<string, PlannedTask>
  /** Groups played for the update that have a preference. */
  readonly withPreference: number
  /** Action tokens that the loss averages over; 0: there is nothing to learn from. */
  readonly actionTokens: number
}

/**
 * Plans a batch from its advantages: the algorithm's normalization over the whole batch, if it has one, then task normalization, then
 * what negative advantages, tokens and tasks count.
 * @throws RangeError lengths that do not fit
 * @example planBatch(groups, batchAdvantages(drGrpo, groups, { stepGroups: { weight: 0, discount: 1 } }), { negativeWeight: 1,
 *   taskNormalization: 'none', taskWeighting: 'none', lossAggregation: 'token', taskWeights: { db: 1 }, algorithm: 'dr_grpo',
 *   imitation: { coefficient: 0 } }).groups[0] // of two episodes of five tokens with the rewards 0 and 1:
 * // advantages [[-0.5], [0.5]], tokenWeights [0.1, 0.1], imitationWeights [0, 0], inBatch [true, true]
 */
export function planBatch(
  groups: readonly BatchGroup[],
  advantages: BatchAdvantages,
  rules: BatchRules,
): BatchPlan {
  const imitation = imitationWeights(groups, rules)
  return imitatesAlone(rules)
    ? planImitation(groups, imitation, { ...advantages, rules })
    : planPolicyLoss(groups, imitation, advantages, rules)
}

/** A batch that a policy loss learns from, with imitation beside it where the rules say so. @param imitation [groups][group] */
function planPolicyLoss(
  groups: readonly BatchGroup[],
  imitation: readonly (readonly number[])[],
  { groups: units, normalizesBatch }: BatchAdvantages,
  rules: BatchRules,
): BatchPlan {
  const ofBatch = normalizesBatch ? normalizedTogether(units, rules.taskNormalization) : units
  const normalized = normalizeByTask(ofBatch, rules.taskNormalization)
  const inLoss = units.map(({ preference }) => preference || rules.taskNormalization === 'per_task_published')
  const counted = groups.map((group, index) => ({
    ...group,
    inLoss: inLoss[index] ?? false,
    weight: group.replayWeight,
  }))
  const weights = tokenWeights(counted, rules.lossAggregation)
  const weighted = units.map((unit, index): WeightedGroup & Units => ({
    ...unit,
    advantages: weighNegative(normalized[index] ?? [], rules.negativeWeight),
    tokenWeights: unit.owners.map((episode) => weights[index]?.[episode] ?? 0),
  }))
  const advantages =
    rules.taskWeighting === 'equal'
      ? weighTasks(weighted, rules.taskWeights)
      : weighted.map((group) => group.advantages)
  const planned = weighted.map((group, index) => ({ ...group, advantages: advantages[index] ?? [] }))
  return planOf(
    groups,
    units,
    planned.map((unit, index) => {
      const group = groups[index] as BatchGroup
      return {
        advantages: byEpisode(unit, group),
        tokenWeights: weights[index] ?? [],
        imitationWeights: imitation[index] ?? [],
        inBatch: group.rewards.map(
          (_, sample) => (inLoss[index] ?? false) || (imitation[index]?.[sample] ?? 0) > 0,
        ),
      }
    }),
    tasksOf(units, planned),
  )
}

/** A batch of which nothing but imitation is learnt from. @param imitation [groups][group] */
function planImitation(
  groups: readonly BatchGroup[],
  imitation: readonly (readonly number[])[],
  { groups: units, rules }: BatchAdvantages & { readonly rules: BatchRules },
): BatchPlan {
  const shares = groups.map(({ rewards, atLeast = fullReward }) =>
    imitationShares(rewards, { by: rules.imitation.by, atLeast }),
  )
  const planned = groups.map((group, index) => ({
    advantages: (shares[index] ?? []).map((share) => [share]),
    tokenWeights: group.rewards.map(() => 0),
    imitationWeights: imitation[index] ?? [],
    inBatch: group.rewards.map((_, sample) => (imitation[index]?.[sample] ?? 0) > 0),
  }))
  const learnt = units.map((unit, index) => ({
    ...unit,
    advantages: unit.owners.map((episode) => shares[index]?.[episode] ?? 0),
    tokenWeights: unit.owners.map((episode) => imitation[index]?.[episode] ?? 0),
    preference: hasPreference(groups[index]?.rewards ?? []),
  }))
  return planOf(groups, learnt, planned, tasksOf(learnt, learnt))
}

function planOf(
  groups: readonly BatchGroup[],
  units: readonly Units[],
  planned: readonly PlannedGroup[],
  tasks: BatchPlan['tasks'],
): BatchPlan {
  const tokensOf = ({ actionTokens }: BatchGroup, inBatch: readonly boolean[]) =>
    actionTokens.reduce((sum, count, sample) => (inBatch[sample] ? sum + count : sum), 0)
  const actionTokens = groups.reduce(
    (sum, group, index) => sum + tokensOf(group, planned[index]?.inBatch ?? []),
    0,
  )
  const withPreference = groups.filter(
    ({ replayWeight }, index) => replayWeight === undefined && units[index]?.preference === true,
  ).length
  return { groups: planned, tasks, withPreference, actionTokens }
}

function tasksOf(
  units: readonly WeighedGroup[],
  planned: readonly WeightedGroup[],
): ReadonlyMap<string, PlannedTask> {
  const shares = massShares(planned)
  const momentsOf = (task: string) =>
    tokenMoments(units.filter((group) => group.task === task && group.preference))
  return new Map(
    [...shares].map(([task, gradientShare]) => [task, { moments: momentsOf(task), gradientShare }]),
  )
}

/** Units with advantages that are normalized over the whole batch, (A − μ) / (σ + 1e-6). */
function normalizedTogether(units: readonly Units[], mode: TaskNormalization): readonly Units[] {
  const asOneTask = units.map((unit) => ({ ...unit, task: '' }))
  const found = normalizeByTask(asOneTask, mode === 'per_task_published' ? mode : 'per_task')
  return units.map((unit, index) => ({ ...unit, advantages: found[index] ?? [] }))
}
