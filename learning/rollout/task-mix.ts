/**
 * Task mix: which task the next group belongs to.
 *
 * Invariants
 * - At every prefix each task's count is less than one away from its share.
 * - The choice is a function of weights and counts alone: no randomness, the same on replay.
 */

/**
 * The next task by Tijdeman's algorithm (the chairman assignment problem, Discrete Mathematics 32, 1980):
 * among the tasks that may get one more without running ahead, the one that would fall behind first.
 *
 * After a change of weights, counts from before it are fair again as soon as the shares allow.
 *
 * @param weights [tasks] not negative, at least one positive; only their ratios matter
 * @param counts [tasks] groups already given to each
 * @returns position of the task
 * @throws RangeError no task, sizes that differ, no positive weight, or a weight or count out of range
 * @example nextTask([3, 1], [2, 0]) // 1
 */
export function nextTask(weights: readonly number[], counts: readonly number[]): number {
  const tasks = weights.length
  if (tasks === 0) throw new RangeError('a task mix has no task, expected at least 1')
  if (counts.length !== tasks)
    throw new RangeError(`a task mix has ${tasks} weights and ${counts.length} counts, expected as many`)
  for (const value of [...weights, ...counts])
    if (!(Number.isFinite(value) && value >= 0))
      throw new RangeError(`a task mix has the weight or count ${value}, expected a number of at least 0`)
  const totalWeight = weights.reduce((sum, weight) => sum + weight, 0)
  if (totalWeight === 0) throw new RangeError('a task mix has no positive weight, expected at least one')

  const given = counts.reduce((sum, count) => sum + count, 0)
  const positive = weights.filter((weight) => weight > 0).length
  // With k tasks no count is further from its share than 1 − 1/(2k − 2), the smallest bound there is.
  const margin = positive > 1 ? 1 / (2 * positive - 2) : 0
  let chosen = -1
  let earliest = Number.POSITIVE_INFINITY
  for (const [task, weight] of weights.entries()) {
    if (weight === 0) continue
    const share = weight / totalWeight
    const deficit = share * (given + 1) - (counts[task] ?? 0)
    // The tolerance is for rounding: shares that are equal on paper must not exclude each other.
    if (deficit < margin - 1e-9) continue
    const slack = (1 - margin - deficit) / share
    if (slack < earliest - 1e-9) {
      earliest = slack
      chosen = task
    }
  }
  if (chosen < 0)
    throw new RangeError(
      `a task mix cannot choose: weights ${weights.join(', ')}, counts ${counts.join(', ')}`,
    )
  return chosen
}

/** True where some task may be played. @param weights [tasks] none negative */
export function isPlayable(weights: readonly number[]): boolean {
  return weights.some((weight) => weight > 0)
}

/** The requirement of a task mix's weights, worded to follow "expected". */
export const playableWords = 'a positive weight for at least one task'
