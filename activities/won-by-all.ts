/**
 * What all episodes of a group won: no policy loss learns from it, and so it is skipped, but it was played, and can be imitated.
 *
 * Invariants
 * - [WON-BY-ALL-1] Only of skipped groups that every episode won, at most as many episodes of each as are asked for.
 * - [WON-BY-ALL-2] No two examples of a group are the same: what was played twice says nothing more.
 */
import { type CollectedGroup, isWonByAll } from './batch-figures.ts'
import type { EpisodeExample } from './episode-example.ts'
import { equalTokens } from './equal-tokens.ts'

/** The examples, in the order of groups and samples. @param most of each group */
export function wonByAll(groups: readonly CollectedGroup[], most: number): EpisodeExample[] {
  return groups.flatMap((group) => {
    const found: EpisodeExample[] = []
    for (const { trajectory } of group.skipped && isWonByAll(group) ? group.episodes : []) {
      const { tokens, lossMask: imitated } = trajectory
      if (found.length < most && !found.some((one) => equalTokens(one.tokens, tokens)))
        found.push({ task: group.task, tokens, imitated })
    }
    return found
  })
}
