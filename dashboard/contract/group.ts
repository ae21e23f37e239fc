/** The samples of a group, an evaluation or a branch, beside one another. */
import type { EpisodeKind, EpisodeRow } from './episodes.ts'

export interface GroupAnswer {
  readonly id: string
  readonly run: string
  readonly kind: EpisodeKind
  readonly task: string
  /** Null for an evaluation of several. */
  readonly instance: string | null
  /** The version at admission, or that was measured, or that plays on. */
  readonly version: number
  readonly status: 'running' | 'complete' | 'abandoned'
  /** Step of the update that consumed it. */
  readonly update: number | null
  /** Whether the update learnt from it; absent where none has consumed it. Not kept: its batch file is gone, or too large to be shown. */
  readonly learnt?: 'learnt' | 'nothing_learnt' | 'not_kept'
  /** All attempts, by sample; at most 500. */
  readonly samples: readonly GroupSample[]
  /** All there are. */
  readonly total: number
  /** The first turn at which counted samples do not all do the same; null where they never part. */
  readonly partsAt: number | null
  readonly temporal?: string
}

export interface GroupSample extends EpisodeRow {
  /** Whether it is one of those that the group was compared by. */
  readonly counts: boolean
  /** Advantage within a group that no update has consumed yet: (R − mean) / (std + 1e-6), or as `learning.algorithm` says. */
  readonly groupAdvantage: number | null
  /** Weight of its action tokens in the update; null when the update did not learn from it or the record is not kept. */
  readonly advantage: number | null
  /** [turns, at most 100] its actions in a few words; empty for samples of large evaluations. */
  readonly actions: readonly string[]
}
