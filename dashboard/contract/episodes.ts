/** The table of episodes: what is asked of it and what it answers. */
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import type { FilterFault } from './episode-filter.ts'

/** Columns that the table can be sorted by. */
export const episodeSorts = [
  'created',
  'ended',
  'reward',
  'turns',
  'tokens',
  'task',
  'instance',
  'outcome',
  'version',
] as const
export type EpisodeSort = (typeof episodeSorts)[number]

/** Rows of one answer at most. */
export const mostEpisodeRows = 500

export interface EpisodeQuery {
  /** In the language of `episode-filter.ts`; empty for all. */
  readonly filter?: string
  readonly sort?: EpisodeSort
  readonly descending?: boolean
  readonly offset?: number
  /** At most `mostEpisodeRows`. */
  readonly limit?: number
  /** The mark of an earlier answer: later episodes stay out, so that rows do not move while the table is scrolled. */
  readonly mark?: number
}

export interface EpisodeRow {
  readonly episode: string
  readonly run: string
  /** Group, evaluation or branch that it is a sample of. */
  readonly parent: string
  readonly kind: EpisodeKind
  readonly sample: number
  readonly attempt: number
  readonly task: string
  readonly instance: string
  /** Null while it is played, as is what follows. */
  readonly outcome: Outcome | null
  readonly reward: number | null
  readonly turns: number | null
  readonly tokens: number | null
  readonly actionTokens: number | null
  /** Oldest and newest version that sampled a turn. */
  readonly versions: readonly [number, number] | null
  /** Step of the update that consumed its group. */
  readonly update: number | null
  readonly created: number
  readonly ended: number | null
  /** False also while it is played. */
  readonly success: boolean
  /** False where its turns were removed by retention. */
  readonly kept: boolean
}

export type EpisodeKind = 'group' | 'evaluation' | 'branch'

export interface EpisodesAnswer {
  readonly rows: readonly EpisodeRow[]
  /** Episodes that the filter lets through, in all. */
  readonly total: number
  /** The mark of this answer: sent with requests for the next stretches. */
  readonly mark: number
  /** The part of the filter that was not understood; then there are no rows. */
  readonly fault?: FilterFault
  /** Names to offer while a filter is written. */
  readonly known: {
    readonly runs: readonly string[]
    readonly tasks: readonly string[]
    readonly outcomes: readonly string[]
  }
}
