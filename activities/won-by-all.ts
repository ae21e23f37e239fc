/**
 * What all episodes of a group won: no policy loss learns from it, and so it is skipped, but it was played, and can be imitated.
 *
 * Invariants
 * - [WON-BY-ALL-1] Only of skipped groups that every episode won, at most as many episodes of each as are asked for.
 * - [WON-BY-ALL-2] No two examples of a group are the same: what was played twice says nothing more.
 */
import { type CollectedGroup, isWhole, isWon } from './batch-figures.ts'
import type { EpisodeExample } from './episode-example.ts'

/** The examples, in the order of groups and samples. @param most of each group */
export function wonByAll(groups: readonly CollectedGroup[], most: number): EpisodeExample[] {
  return groups.flatMap(({ task, skipped, episodes }) => {
    if (!skipped || !episodes.every((one) => isWhole(one) && isWon(one))) return []
    const found = new Map<string, EpisodeExample>()
    for (const { trajectory } of episodes) {
      const { tokens, lossMask: imitated } = trajectory
      const key = tokens.join()
      if (found.size < most && !found.has(key)) found.set(key, { task, tokens, imitated })
    }
    return [...found.values()]
  })
}
