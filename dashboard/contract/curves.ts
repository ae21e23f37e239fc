/**
 * Curves: the figures of a run's updates, by column, as a plot takes them.
 *
 * Invariants
 * - All columns are as long as `step`; what an update lacks is null.
 * - A run of more than `mostPoints` updates is thinned: each `every`-th is here, and the last.
 */

/** Beyond what a screen can show. */
export const mostPoints = 20_000

/** [updates] */
export type Column = readonly (number | null)[]

/** Figures of an update that are one number. */
export type FigureName =
  | 'kl'
  /** How much of `kl` the update itself has made. */
  | 'drift'
  | 'reference_kl'
  | 'entropy'
  | 'clip_fraction'
  | 'grad_norm'
  | 'loss'
  | 'staleness_mean'
  | 'staleness_max'
  | 'stale_share'
  | 'unusable_share'
  | 'cut_off_share'
  | 'episodes'
  /** The tokens of the update alone. */
  | 'tokens'
  | 'action_tokens'
  /** Sampled tokens of the update's episodes by the time since the update before. */
  | 'tokens_per_second'
  /** Episodes of the update by the time since the update before. */
  | 'episodes_per_second'
  /** Turns of the update's episodes by the time since the update before. */
  | 'turns_per_second'
  | 'seconds_wait'
  | 'seconds_train'
  | 'seconds_publish'
  | 'groups'
  | 'groups_won'
  | 'groups_lost'
  /** With different rewards: what is learnt from. */
  | 'groups_mixed'
  /** With equal rewards that are neither all won nor all lost. */
  | 'groups_equal'
  /** With equal rewards, left out of the batch to make room for others: none of them is among those above. */
  | 'groups_skipped'
  /** Those of them that were won, and lost. */
  | 'skipped_won'
  | 'skipped_lost'

/** Figures of one task. */
export interface TaskCurves {
  /** Share of the episodes that succeeded, with its 95 % interval: groups are what is drawn, not episodes. */
  readonly success: Column
  readonly success_low: Column
  readonly success_high: Column
  /** Mean reward of the environment. */
  readonly reward: Column
  /** Mean of the reward that learning uses, with its 95 % interval over groups. */
  readonly shaped_reward: Column
  readonly shaped_reward_low: Column
  readonly shaped_reward_high: Column
  readonly episodes: Column
  readonly groups_won: Column
  readonly groups_lost: Column
  readonly groups_mixed: Column
  /** The task's share of the gradient. */
  readonly gradient_share: Column
}

/** Importance ratios of an update's tokens; null where it has none. */
export interface RatioColumn {
  readonly kl: Column
  readonly effective_share: Column
  readonly tokens: Column
  /** [updates][bins] shares of the tokens; the edges are `RunCurves.ratioEdges`. */
  readonly ratios: readonly (readonly number[] | null)[]
}

export interface RunCurves {
  readonly run: string
  /** 1, or larger where updates are left out. */
  readonly every: number
  /** [updates] from 1. */
  readonly step: readonly number[]
  /** The version that each published. */
  readonly version: readonly number[]
  /** When each was made. */
  readonly time: readonly number[]
  /** Tokens that all updates up to each have learnt from. */
  readonly tokensSoFar: readonly number[]
  /** Turns of the episodes that all updates up to each have consumed: steps of environments. */
  readonly turnsSoFar: readonly number[]
  readonly figures: Readonly<Record<FigureName, Column>>
  readonly tasks: Readonly<Record<string, TaskCurves>>
  /** Between the bins of `ratios`: one more bin than edges. */
  readonly ratioEdges: readonly number[]
  /** Turns by the newest version, and by the pool. */
  readonly fresh: RatioColumn
  readonly stale: RatioColumn
  /** [updates] The largest staleness that was allowed when each was made. */
  readonly stalenessBound: readonly number[]
  readonly refused: readonly { readonly step: number; readonly reason: string }[]
  readonly rollbacks: readonly {
    readonly version: number
    readonly to: number
    readonly from: number
    readonly time: number
  }[]
  /** When the run began. */
  readonly created: number
}
