/**
 * Batch plan: from the rewards and lengths of an update's groups to the advantage of every episode.
 *
 * Invariants
 * - A group with equal rewards contributes nothing to the loss (except in the published arithmetic).
 * - The order of groups and episodes is kept; the plan depends on nothing else than its input.
 */
import { type AdvantageEstimator, groupAdvantages, hasPreference } from './advantage.ts'
import { normalizeByTask, type TaskNormalization, type WeighedGroup } from './task-normalization.ts'

/** A finished group, as the update sees it. */
export interface BatchGroup {
  readonly task: string
  /** [group] */
  readonly rewards: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
}

export interface PlannedGroup {
  /** [group] of every action token of the episode. */
  readonly advantages: readonly number[]
  /** False: all episodes of the group stay out of the batch, its loss and its token count. */
  readonly inLoss: boolean
}

export interface BatchPlan {
  /** [groups], same order. */
  readonly groups: readonly PlannedGroup[]
  /** Groups whose rewards differ. */
  readonly withPreference: number
  /** Action tokens that the loss averages over; 0: there is nothing to learn from. */
  readonly actionTokens: number
}

/**
 * Plans a batch: group advantage, then (for `reinforce_pp`) normalization over the whole batch, then
 * task normalization.
 * @throws RangeError a group of fewer than two rewards, a reward not finite, lengths that do not fit
 * @example planBatch([{ task: 'db', rewards: [0, 1], actionTokens: [5, 5] }],
 *   { advantage: 'dr_grpo', taskNormalization: 'none' }).groups[0] // advantages [-0.5, 0.5], inLoss true
 */
export function planBatch(
  groups: readonly BatchGroup[],
  rules: { readonly advantage: AdvantageEstimator; readonly taskNormalization: TaskNormalization },
): BatchPlan {
  const weighed: WeighedGroup[] = groups.map(({ task, rewards, actionTokens }) => ({
    task,
    advantages: groupAdvantages(rewards, rules.advantage),
    actionTokens,
    preference: hasPreference(rewards),
  }))
  const whole =
    rules.advantage === 'reinforce_pp' ? normalizeWhole(weighed, rules.taskNormalization) : weighed
  const normalized = normalizeByTask(whole, rules.taskNormalization)
  const planned = weighed.map((group, index) => ({
    advantages: normalized[index] ?? [],
    inLoss: group.preference || rules.taskNormalization === 'per_task_published',
  }))
  return {
    groups: planned,
    withPreference: weighed.filter((group) => group.preference).length,
    actionTokens: weighed.reduce(
      (sum, group, index) =>
        planned[index]?.inLoss ? sum + group.actionTokens.reduce((tokens, count) => tokens + count, 0) : sum,
      0,
    ),
  }
}

/** REINFORCE++ normalizes over all tasks at once: the same arithmetic, with one task for all. */
function normalizeWhole(groups: readonly WeighedGroup[], mode: TaskNormalization): WeighedGroup[] {
  const asOneTask = groups.map((group) => ({ ...group, task: '' }))
  const normalized = normalizeByTask(asOneTask, mode === 'per_task_published' ? mode : 'per_task')
  return groups.map((group, index) => ({ ...group, advantages: normalized[index] ?? [] }))
}
