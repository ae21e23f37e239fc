/**
 * Task advantage normalization: the advantages of every task of a batch have one mean and one scale. How much of the gradient each
 * task has is a matter of `task-weighting.ts`: lengths stay as they are.
 *
 * Invariants
 * - [TASK-NORM-1] After `per_task`, each task's advantages have mean 0 over its action tokens, and deviation 1 where
 *   they differ at all.
 * - [TASK-NORM-2] In `per_task`, a group without preference changes no other advantage and takes no part in the loss.
 * - [TASK-NORM-3] Tasks do not influence each other.
 */
import { deviationFloor } from './group-rewards.ts'

/** `per_task_published`: the arithmetic of the published code, for comparison. */
export type TaskNormalization = 'none' | 'per_task' | 'per_task_published'

/** A group's advantages with the lengths that weigh them. */
export interface WeighedGroup {
  readonly task: string
  /** [group] */
  readonly advantages: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  /** Whether one of the advantages is not 0. */
  readonly preference: boolean
}

/** Mean and unbiased standard deviation over the action tokens of a task. */
export interface TaskMoments {
  readonly mean: number
  readonly deviation: number
  readonly actionTokens: number
}

/**
 * Ã = (A − μ) / (σ + 1e-6), with μ and σ of each task over all action tokens of the batch.
 * Source: arXiv 2510.04206, task advantage normalization.
 *
 * - `per_task`: groups without preference stay out of μ and σ and keep zero advantage.
 * - `per_task_published`: they are counted and normalized like all others, and so get −μ/σ.
 * - `none`: advantages as they are.
 *
 * @returns [groups][group], same order
 * @throws RangeError advantages and lengths of different sizes, a negative or fractional length
 */
export function normalizeByTask(groups: readonly WeighedGroup[], mode: TaskNormalization): number[][] {
  for (const group of groups) checkGroup(group)
  if (mode === 'none') return groups.map((group) => [...group.advantages])
  const counted = mode === 'per_task' ? groups.filter((group) => group.preference) : groups
  const moments = new Map<string, TaskMoments>()
  for (const task of new Set(counted.map((group) => group.task))) {
    moments.set(task, tokenMoments(counted.filter((group) => group.task === task)))
  }
  return groups.map((group) => {
    const of = moments.get(group.task)
    if (of === undefined || (mode === 'per_task' && !group.preference)) return group.advantages.map(() => 0)
    return group.advantages.map((value) => (value - of.mean) / (of.deviation + deviationFloor))
  })
}

/**
 * μ and σ over action tokens: an episode's advantage counts once for each of its tokens.
 * @returns zeros without tokens; deviation zero with one token
 */
export function tokenMoments(
  groups: readonly Pick<WeighedGroup, 'advantages' | 'actionTokens'>[],
): TaskMoments {
  const terms = groups.flatMap((group) =>
    group.advantages.map((value, episode) => ({ value, count: group.actionTokens[episode] ?? 0 })),
  )
  const actionTokens = terms.reduce((sum, term) => sum + term.count, 0)
  if (actionTokens === 0) return { mean: 0, deviation: 0, actionTokens }
  const mean = terms.reduce((sum, term) => sum + term.count * term.value, 0) / actionTokens
  const squares = terms.reduce((sum, term) => sum + term.count * (term.value - mean) ** 2, 0)
  const deviation = actionTokens < 2 ? 0 : Math.sqrt(squares / (actionTokens - 1))
  return { mean, deviation, actionTokens }
}

function checkGroup({ task, advantages, actionTokens }: WeighedGroup): void {
  if (advantages.length !== actionTokens.length)
    throw new RangeError(
      `a group of ${task} has ${advantages.length} advantages and ${actionTokens.length} lengths, expected as many`,
    )
  for (const length of actionTokens)
    if (!Number.isSafeInteger(length) || length < 0)
      throw new RangeError(`an episode of ${task} has ${length} action tokens, expected a count`)
}
