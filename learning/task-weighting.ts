/**
 * Task weighting: how much of a batch's gradient belongs to each task.
 *
 * A task's voice is Σ w·|A| over its action tokens, w being what a token counts in the loss. Task normalization does not
 * make voices equal: episodes that are ten times as long have about ten times the voice.
 *
 * Invariants
 * - [TASK-WEIGHTING-1] Under `equal` each task's share of the voices is its weight by the weights of the tasks that have a voice.
 * - [TASK-WEIGHTING-2] The sum of all voices stays as it was, and so does the order of advantages within a task.
 */

/** `none`: as lengths and advantages have it; `equal`: by the weights of the tasks. */
export type TaskWeighting = 'none' | 'equal'

/** A group with what its tokens say. */
export interface VoicedGroup {
  readonly task: string
  /** [group] */
  readonly advantages: readonly number[]
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  /** [group] what each token of the episode counts in the loss. */
  readonly tokenWeights: readonly number[]
}

/** Σ w·|A| over the action tokens of each task. @returns by task, in the order of the groups */
export function voices(groups: readonly VoicedGroup[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const { task, advantages, actionTokens, tokenWeights } of groups) {
    const voice = advantages.reduce(
      (sum, advantage, episode) =>
        sum + Math.abs(advantage) * (actionTokens[episode] ?? 0) * (tokenWeights[episode] ?? 0),
      0,
    )
    found.set(task, (found.get(task) ?? 0) + voice)
  }
  return found
}

/** Each task's share of all voices; 0 for all where there is none. */
export function voiceShares(groups: readonly VoicedGroup[]): ReadonlyMap<string, number> {
  const found = voices(groups)
  const total = [...found.values()].reduce((sum, voice) => sum + voice, 0)
  return new Map([...found].map(([task, voice]) => [task, total === 0 ? 0 : voice / total]))
}

/**
 * Advantages under a weighting: those of each task times one factor.
 * @param weights by task; one that is missing counts 0
 * @returns [groups][group], same order; as they are where no task with a voice has a weight
 * @example weighTasks([{ task: 'a', advantages: [1], actionTokens: [1], tokenWeights: [0.5] },
 *   { task: 'b', advantages: [3], actionTokens: [1], tokenWeights: [0.5] }], { a: 1, b: 1 }) // [[2], [2]]
 */
export function weighTasks(
  groups: readonly VoicedGroup[],
  weights: Readonly<Record<string, number>>,
): number[][] {
  const found = voices(groups)
  const heard = [...found].filter(([, voice]) => voice > 0)
  const weightOf = (task: string) => weights[task] ?? 0
  const totalVoice = heard.reduce((sum, [, voice]) => sum + voice, 0)
  const totalWeight = heard.reduce((sum, [task]) => sum + weightOf(task), 0)
  return groups.map(({ task, advantages }) => {
    const voice = found.get(task) ?? 0
    if (voice === 0 || totalWeight === 0) return [...advantages]
    const factor = ((weightOf(task) / totalWeight) * totalVoice) / voice
    return advantages.map((advantage) => (factor === 0 ? 0 : advantage * factor))
  })
}
