/**
 * Batch rows: which row of an update's batch file each episode of its groups has.
 *
 * The file has tokens and no ids. Its rows are those of the episodes that the update learnt from, in the order of groups and
 * samples, with rows of other origin (replays) behind them. Episodes that were not learnt from have no row.
 *
 * Invariants
 * - [BATCH-ROWS-1] An episode and its row have the same tokens, and rows stand in the order of their episodes.
 * - [BATCH-ROWS-2] Of episodes with the same tokens those of groups whose rewards differ come first: they are the ones that updates
 *   usually learn from.
 */

/** An episode that an update may have learnt from. */
export interface BatchCandidate {
  /** Equal for equal tokens. */
  readonly tokens: string
  /** Whether the rewards of its group differ. */
  readonly hasPreference: boolean
}

/**
 * The heaviest matching that keeps the order.
 * @param rows of equal form as `tokens`
 * @returns [episodes] the row, undefined without one
 */
export function rowsOfEpisodes(
  episodes: readonly BatchCandidate[],
  rows: readonly string[],
): readonly (number | undefined)[] {
  const width = rows.length + 1
  // [episodes + 1, rows + 1] the weight of the best matching of those from there on
  const best = new Int32Array((episodes.length + 1) * width)
  const at = (episode: number, row: number) => best[episode * width + row] ?? 0
  const matched = (episode: number, row: number) => {
    const { tokens, hasPreference } = episodes[episode] ?? {}
    return tokens === rows[row] ? at(episode + 1, row + 1) + (hasPreference === true ? 2 : 1) : 0
  }
  for (let episode = episodes.length - 1; episode >= 0; episode--)
    for (let row = rows.length - 1; row >= 0; row--)
      best[episode * width + row] = Math.max(
        matched(episode, row),
        at(episode + 1, row),
        at(episode, row + 1),
      )
  let row = 0
  return episodes.map((_, episode) => {
    while (row < rows.length && at(episode, row) === at(episode, row + 1)) row += 1
    if (row === rows.length || at(episode, row) !== matched(episode, row)) return undefined
    return row++
  })
}
