/**
 * Task weighting: how much of a batch's gradient belongs to each task.
 *
 * A task's mass is Σ w·|A| over its action tokens, w being what a token counts in the loss. Task normalization does not
 * make masses equal: episodes that are ten times as long have about ten times the mass.
 *
 * Invariants
 * - [TASK-WEIGHTING-1] Under `equal` each task's share of the masses is its weight by the weights of the tasks that have a mass.
 * - [TASK-WEIGHTING-2] The sum of all masses stays as it was, and so does the order of advantages within a task.
 */

/** `none`: as lengths and advantages have it; `equal`: by the weights of the tasks. */
export type TaskWeighting = 'none' | 'equal'

/** A group with what its tokens say. */
export interface WeightedGroup {
  readonly task: string
  /** [group] */
  readonly advantages: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  /** [group] what each token of the episode counts in the loss. */
  readonly tokenWeights: readonly number[]
}

/** Σ w·|A| over the action tokens of each task. @returns by task, in the order of the groups */
export function masses(groups: readonly WeightedGroup[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const { task, advantages, actionTokens, tokenWeights } of groups) {
    const mass = advantages.reduce(
      (sum, advantage, episode) =>
        sum + Math.abs(advantage) * (actionTokens[episode] ?? 0) * (tokenWeights[episode] ?? 0),
      0,
    )
    found.set(task, (found.get(task) ?? 0) + mass)
  }
  return found
}

/** Each task's share of all masses; 0 for all where there is none. */
export function massShares(groups: readonly WeightedGroup[]): ReadonlyMap<string, number> {
  const found = masses(groups)
  const total = [...found.values()].reduce((sum, mass) => sum + mass, 0)
  return new Map([...found].map(([task, mass]) => [task, total === 0 ? 0 : mass / total]))
}

/**
 * Advantages under a weighting: those of each task times one factor.
 * @param weights by task; one that is missing counts 0
 * @returns [groups][group], same order; as they are where no task with a mass has a weight
 * @example weighTasks([{ task: 'a', advantages: [1], actionTokens: [1], tokenWeights: [0.5] },
 *   { task: 'b', advantages: [3], actionTokens: [1], tokenWeights: [0.5] }], { a: 1, b: 1 }) // [[2], [2]]
 */
export function weighTasks(
  groups: readonly WeightedGroup[],
  weights: Readonly<Record<string, number>>,
): number[][] {
  const found = masses(groups)
  const present = [...found].filter(([, mass]) => mass > 0)
  const weightOf = (task: string) => weights[task] ?? 0
  const totalMass = present.reduce((sum, [, mass]) => sum + mass, 0)
  const totalWeight = present.reduce((sum, [task]) => sum + weightOf(task), 0)
  return groups.map(({ task, advantages }) => {
    const mass = found.get(task) ?? 0
    if (mass === 0 || totalWeight === 0) return [...advantages]
    const factor = ((weightOf(task) / totalWeight) * totalMass) / mass
    return advantages.map((advantage) => (factor === 0 ? 0 : advantage * factor))
  })
}
