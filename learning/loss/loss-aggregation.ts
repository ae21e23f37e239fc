/**
 * Loss aggregation: what each action token counts in the loss of a batch.
 *
 * Invariants
 * - [AGGREGATION-1] The weights of all counted tokens add up to 1, so that no learning rate has to follow the lengths.
 * - [AGGREGATION-2] By `token` all tokens count alike, by `episode` all episodes, by `task` all tasks; within an episode all
 *   tokens do.
 */

/**
 * `token`: the mean over tokens, where long episodes and tasks of long episodes count more. `episode`: the mean over episodes of
 * their means. `task`: the mean over tasks of their means over tokens.
 */
export type LossAggregation = 'token' | 'episode' | 'task'

/** A group with the lengths of its episodes. */
interface CountedGroup {
  readonly task: string
  /** [group] action tokens of each episode. */
  readonly actionTokens: readonly number[]
  /** False: its tokens count nothing. */
  readonly inLoss: boolean
  /** How much it counts beside others: as if there were so many of it; absent: 1. */
  readonly weight?: number | undefined
}

/**
 * The weight of each token of an episode.
 * @returns [groups][group], same order; 0 where nothing counts
 * @example tokenWeights([{ task: 'db', actionTokens: [1, 3], inLoss: true }], 'episode') // [[0.5, 0.1666…]]
 */
export function tokenWeights(groups: readonly CountedGroup[], aggregation: LossAggregation): number[][] {
  const counted = groups.filter(({ inLoss }) => inLoss)
  const episodes = sum(
    counted.map(
      ({ actionTokens, weight = 1 }) => weight * actionTokens.filter((length) => length > 0).length,
    ),
  )
  const tokensOf = new Map<string, number>()
  for (const { task, actionTokens, weight = 1 } of counted)
    tokensOf.set(task, (tokensOf.get(task) ?? 0) + weight * sum(actionTokens))
  const tasks = [...tokensOf.values()].filter((tokens) => tokens > 0).length
  const tokens = sum([...tokensOf.values()])
  const weightOf: Record<LossAggregation, (task: string, length: number) => number> = {
    token: () => 1 / tokens,
    episode: (_, length) => 1 / (episodes * length),
    task: (task) => 1 / (tasks * (tokensOf.get(task) ?? 0)),
  }
  return groups.map(({ task, actionTokens, inLoss, weight = 1 }) =>
    actionTokens.map((length) =>
      inLoss && weight > 0 && length > 0 ? weight * weightOf[aggregation](task, length) : 0,
    ),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
