/**
 * Batch plan: from the rewards and lengths of an update's groups to the advantage of every episode.
 *
 * Invariants
 * - A group with equal rewards contributes nothing to the policy loss (except in the published arithmetic).
 * - The order of groups and episodes is kept; the plan depends on nothing else than its input.
 * - A unit has one advantage: an episode, or each of its turns where steps are compared. Rules for advantages over tokens
 *   (moments, masses, weights) apply to the tokens of units.
 */

import { fullReward, isSuccess } from '../evaluation/reward.ts'
import { tokenWeights } from '../loss/loss-aggregation.ts'
import type { Algorithm } from './algorithm.ts'
import { type AdvantageName, algorithms } from './algorithms.ts'
import type { AdvantageGroup, CheckedAdvantage } from './custom-advantage.ts'
import { groupAdvantages, hasPreference } from './group-rewards.ts'
import { type ImitationRules, imitatesAlone, imitationWeights } from './imitation.ts'
import { weighNegative } from './negative-weight.ts'
import { type StepGroupRules, type SteppedEpisode, stepAdvantages } from './step-groups.ts'
import {
  normalizeByTask,
  type TaskMoments,
  type TaskNormalization,
  tokenMoments,
  type WeighedGroup,
} from './task-normalization.ts'
import { massShares, type TaskWeighting, type WeightedGroup, weighTasks } from './task-weighting.ts'

/** A finished group, as the update sees it. */
export interface BatchGroup {
  readonly task: string
  /** [group] */
  readonly rewards: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  /** Reward of a success; that of a task that is solved where it is absent. */
  readonly atLeast?: number
  /** Its weight beside a group that was played for the update; absent: it is one. */
  readonly replayWeight?: number
  /** [group] the steps of each episode, with the action tokens of each turn; needed where steps are compared, and by a custom advantage. */
  readonly episodes?: readonly (SteppedEpisode & { readonly turnTokens: readonly number[] })[]
}

/** How a batch is learnt from; names as in the configuration. */
export interface BatchRules extends ImitationRules {
  /** The algorithm whose advantages are taken, by name, or a custom advantage. */
  readonly advantage: AdvantageName | CheckedAdvantage
  /** The weight of a negative advantage, beside 1 for a positive one. */
  readonly negativeWeight: number
  readonly taskNormalization: TaskNormalization
  readonly taskWeighting: TaskWeighting
  readonly stepGroups: StepGroupRules
  /** Weight of each task of the mix. */
  readonly taskWeights: Readonly<Record<string, number>>
}

export interface PlannedGroup {
  /** [group][units] of every action token of the unit: one for an episode, or one for each of its turns where steps are compared. */
  readonly advantages: readonly (readonly number[])[]
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
  /** Groups played for the update whose rewards differ. */
  readonly withPreference: number
  /** Action tokens that the loss averages over; 0: there is nothing to learn from. */
  readonly actionTokens: number
}

/** The units of a group, [units] each. */
interface Units extends WeighedGroup {
  /** To which episode of its group each unit belongs. */
  readonly owners: readonly number[]
}

/**
 * Plans a batch: group advantage with that of steps, then the algorithm's normalization over the whole batch, if it has one, then task
 * normalization, then what negative advantages, tokens and tasks count.
 * @throws RangeError a group of fewer than two rewards, a reward not finite, lengths that do not fit
 * @example planBatch([{ task: 'db', rewards: [0, 1], actionTokens: [5, 5] }], { advantage: 'dr_grpo', negativeWeight: 1, taskNormalization: 'none',
 *   taskWeighting: 'none', lossAggregation: 'token', taskWeights: { db: 1 }, objective: 'clipped', imitation: { coefficient: 0 },
 *   stepGroups: { weight: 0, discount: 1 } }).groups[0]
 * // advantages [[-0.5], [0.5]], tokenWeights [0.1, 0.1], imitationWeights [0, 0], inBatch [true, true]
 */
export function planBatch(groups: readonly BatchGroup[], rules: BatchRules): BatchPlan {
  const imitation = imitationWeights(groups, rules)
  const planned = imitatesAlone(rules)
    ? planImitation(groups, imitation)
    : planPolicyLoss(groups, imitation, rules)
  const own = groups.filter(({ replayWeight }) => replayWeight === undefined)
  return { ...planned, withPreference: own.filter(({ rewards }) => hasPreference(rewards)).length }
}

type Planned = Omit<BatchPlan, 'withPreference'>

/** A batch that a policy loss learns from, with imitation beside it where the rules say so. @param imitation [groups][group] */
function planPolicyLoss(
  groups: readonly BatchGroup[],
  imitation: readonly (readonly number[])[],
  rules: BatchRules,
): Planned {
  const units = groups.map((group) => unitsOf(group, rules))
  const normalized = normalizeByTask(normalizedBatch(units, rules), rules.taskNormalization)
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
    groups.map(({ rewards }, index) => ({
      advantages: byEpisode(planned[index], rewards.length),
      tokenWeights: weights[index] ?? [],
      imitationWeights: imitation[index] ?? [],
      inBatch: rewards.map((_, sample) => (inLoss[index] ?? false) || (imitation[index]?.[sample] ?? 0) > 0),
    })),
    tasksOf(units, planned),
  )
}

/** A batch of which nothing but imitation is learnt from. @param imitation [groups][group] */
function planImitation(groups: readonly BatchGroup[], imitation: readonly (readonly number[])[]): Planned {
  const planned = groups.map(({ rewards, atLeast = fullReward }, index) => ({
    advantages: rewards.map((reward) => [isSuccess(reward, { atLeast }) ? 1 : 0]),
    tokenWeights: rewards.map(() => 0),
    imitationWeights: imitation[index] ?? [],
    inBatch: rewards.map((_, sample) => (imitation[index]?.[sample] ?? 0) > 0),
  }))
  const units = groups.map(({ task, rewards, actionTokens }, index) => ({
    task,
    actionTokens,
    advantages: (planned[index]?.advantages ?? []).flat(),
    tokenWeights: imitation[index] ?? [],
    preference: hasPreference(rewards),
  }))
  return planOf(groups, planned, tasksOf(units, units))
}

function planOf(
  groups: readonly BatchGroup[],
  planned: readonly PlannedGroup[],
  tasks: BatchPlan['tasks'],
): Planned {
  const tokensOf = ({ actionTokens }: BatchGroup, inBatch: readonly boolean[]) =>
    actionTokens.reduce((sum, count, sample) => (inBatch[sample] ? sum + count : sum), 0)
  const actionTokens = groups.reduce(
    (sum, group, index) => sum + tokensOf(group, planned[index]?.inBatch ?? []),
    0,
  )
  return { groups: planned, tasks, actionTokens }
}

/** Group advantages, of the turns where steps are compared. */
function unitsOf(group: BatchGroup, rules: BatchRules): Units {
  const { task, rewards, actionTokens, episodes } = group
  if (typeof rules.advantage !== 'string') return customUnits(group, rules.advantage)
  const preference = hasPreference(rewards)
  const algorithm = algorithms[rules.advantage]
  const advantages = groupAdvantages(rewards, algorithm)
  const { weight } = rules.stepGroups
  if (weight === 0 || !preference || episodes === undefined)
    return { task, preference, advantages, actionTokens, owners: rewards.map((_, sample) => sample) }
  const ofSteps = stepAdvantages(episodes, rules.stepGroups, algorithm)
  const turns = episodes.flatMap(({ turnTokens }, owner) =>
    turnTokens.map((tokens, turn) => ({
      owner,
      tokens,
      advantage: (advantages[owner] ?? 0) + weight * (ofSteps[owner]?.[turn] ?? 0),
    })),
  )
  return {
    task,
    preference,
    advantages: turns.map(({ advantage }) => advantage),
    actionTokens: turns.map(({ tokens }) => tokens),
    owners: turns.map(({ owner }) => owner),
  }
}

/** A group as a custom advantage sees it. */
export function advantageGroup({ task, rewards, actionTokens, episodes = [] }: BatchGroup): AdvantageGroup {
  return {
    task,
    episodes: episodes.map(({ completed, steps, turnTokens }, sample) => ({
      reward: rewards[sample] ?? 0,
      completed,
      actionTokens: actionTokens[sample] ?? 0,
      turns: steps.map(({ state, paid }, turn) => ({
        reward: paid,
        actionTokens: turnTokens[turn] ?? 0,
        ...(state === undefined ? {} : { state }),
      })),
    })),
  }
}

/** The turns of a group with a custom advantage; it has a preference where one of them is not 0. */
function customUnits(group: BatchGroup, own: CheckedAdvantage): Units {
  const { task, episodes = [] } = group
  const found = own(advantageGroup(group))
  const turns = episodes.flatMap(({ turnTokens }, owner) => {
    const [first = 0, ...others] = found[owner] ?? []
    const isOne = others.length === 0
    return turnTokens.map((tokens, turn) => ({
      owner,
      tokens,
      advantage: isOne ? first : (found[owner]?.[turn] ?? 0),
    }))
  })
  return {
    task,
    preference: turns.some(({ advantage }) => advantage !== 0),
    advantages: turns.map(({ advantage }) => advantage),
    actionTokens: turns.map(({ tokens }) => tokens),
    owners: turns.map(({ owner }) => owner),
  }
}

/** Advantages of units, [group][units]. */
function byEpisode(units: Units | undefined, episodes: number): number[][] {
  const found = Array.from({ length: episodes }, (): number[] => [])
  for (const [unit, owner] of (units?.owners ?? []).entries())
    found[owner]?.push(units?.advantages[unit] ?? 0)
  return found
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

/** Units with the advantages that the algorithm normalizes over the whole batch, where it does. */
function normalizedBatch(
  units: readonly Units[],
  { advantage, taskNormalization }: BatchRules,
): readonly Units[] {
  const { normalizedBatch }: Partial<Algorithm> = typeof advantage === 'string' ? algorithms[advantage] : {}
  const found = normalizedBatch?.(units, taskNormalization)
  return found === undefined
    ? units
    : units.map((unit, index) => ({ ...unit, advantages: found[index] ?? [] }))
}
