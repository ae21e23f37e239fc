/**
 * Batch plan: from the rewards and lengths of an update's groups to the advantage of every episode.
 *
 * Invariants
 * - A group with equal rewards contributes nothing to the loss (except in the published arithmetic).
 * - The order of groups and episodes is kept; the plan depends on nothing else than its input.
 */
import { type AdvantageEstimator, groupAdvantages, hasPreference } from './advantage.ts'
import { type LossAggregation, tokenWeights } from './loss-aggregation.ts'
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
}

/** How a batch is learnt from; names as in the configuration. */
export interface BatchRules {
  readonly advantage: AdvantageEstimator
  readonly taskNormalization: TaskNormalization
  readonly taskWeighting: TaskWeighting
  readonly lossAggregation: LossAggregation
  /** Weight of each task of the mix. */
  readonly taskWeights: Readonly<Record<string, number>>
}

export interface PlannedGroup {
  /** [group] of every action token of the episode. */
  readonly advantages: readonly number[]
  /** [group] what each action token of the episode counts in the loss; over the batch they add up to 1. */
  readonly tokenWeights: readonly number[]
  /** False: all episodes of the group stay out of the batch, its loss and its token count. */
  readonly inLoss: boolean
}

/** What a task brings to a batch. */
export interface PlannedTask {
  /** Of the group advantages over the action tokens of groups with preference: what `per_task` subtracts and divides by. */
  readonly moments: TaskMoments
  /** Of Σ w·|A| over all action tokens, w being what a token counts in the loss. */
  readonly gradientShare: number
}

export interface BatchPlan {
  /** [groups], same order. */
  readonly groups: readonly PlannedGroup[]
  /** Each task that has a group. */
  readonly tasks: ReadonlyMap<string, PlannedTask>
  /** Groups whose rewards differ. */
  readonly withPreference: number
  /** Action tokens that the loss averages over; 0: there is nothing to learn from. */
  readonly actionTokens: number
}

/**
 * Plans a batch: group advantage, then (for `reinforce_pp`) normalization over the whole batch, then task normalization,
 * then what tokens and tasks count.
 * @throws RangeError a group of fewer than two rewards, a reward not finite, lengths that do not fit
 * @example planBatch([{ task: 'db', rewards: [0, 1], actionTokens: [5, 5] }], { advantage: 'dr_grpo', taskNormalization: 'none',
 *   taskWeighting: 'none', lossAggregation: 'token', taskWeights: { db: 1 } }).groups[0] // advantages [-0.5, 0.5], inLoss true
 */
export function planBatch(groups: readonly BatchGroup[], rules: BatchRules): BatchPlan {
  const weighed: WeighedGroup[] = groups.map(({ task, rewards, actionTokens }) => ({
    task,
    advantages: groupAdvantages(rewards, rules.advantage),
    actionTokens,
    preference: hasPreference(rewards),
  }))
  const whole =
    rules.advantage === 'reinforce_pp' ? normalizeWhole(weighed, rules.taskNormalization) : weighed
  const normalized = normalizeByTask(whole, rules.taskNormalization)
  const inLoss = weighed.map(
    ({ preference }) => preference || rules.taskNormalization === 'per_task_published',
  )
  const counted = weighed.map((group, index) => ({ ...group, inLoss: inLoss[index] ?? false }))
  const weights = tokenWeights(counted, rules.lossAggregation)
  const weighted = counted.map((group, index) => ({
    ...group,
    advantages: normalized[index] ?? [],
    tokenWeights: weights[index] ?? [],
  }))
  const advantages =
    rules.taskWeighting === 'equal'
      ? weighTasks(weighted, rules.taskWeights)
      : weighted.map((group) => group.advantages)
  const planned = weighted.map((group, index) => ({ ...group, advantages: advantages[index] ?? [] }))
  return {
    groups: planned.map(({ advantages, tokenWeights, inLoss }) => ({ advantages, tokenWeights, inLoss })),
    tasks: tasksOf(weighed, planned),
    withPreference: weighed.filter((group) => group.preference).length,
    actionTokens: counted.reduce(
      (sum, group) =>
        group.inLoss ? sum + group.actionTokens.reduce((tokens, count) => tokens + count, 0) : sum,
      0,
    ),
  }
}

function tasksOf(
  weighed: readonly WeighedGroup[],
  planned: readonly WeightedGroup[],
): ReadonlyMap<string, PlannedTask> {
  const shares = massShares(planned)
  const momentsOf = (task: string) =>
    tokenMoments(weighed.filter((group) => group.task === task && group.preference))
  return new Map(
    [...shares].map(([task, gradientShare]) => [task, { moments: momentsOf(task), gradientShare }]),
  )
}

/** REINFORCE++ normalizes over all tasks at once: the same arithmetic, with one task for all. */
function normalizeWhole(groups: readonly WeighedGroup[], mode: TaskNormalization): WeighedGroup[] {
  const asOneTask = groups.map((group) => ({ ...group, task: '' }))
  const normalized = normalizeByTask(asOneTask, mode === 'per_task_published' ? mode : 'per_task')
  return groups.map((group, index) => ({ ...group, advantages: normalized[index] ?? [] }))
}
