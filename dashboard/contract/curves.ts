/**
 * Curves: the figures of a run's updates, by column, as a plot takes them.
 *
 * Invariants
 * - All columns are as long as `step`; what an update lacks is null.
 * - A run of more than `mostPoints` updates is thinned: each `every`-th is here, and the last.
 */
import type { NumberName } from '../../learning/run/metrics.ts'

/** Beyond what a screen can show. */
export const mostPoints = 20_000

/** [updates] */
export type Column = readonly (number | null)[]

type Underscored<Name extends string> = Name extends `${infer First}.${infer Rest}`
  ? `${First}_${Rest}`
  : Name

/** Figures of an update that are one number: the metrics of the table, and those that follow from others. */
export type FigureName =
  | Underscored<NumberName>
  /** Sampled tokens of the update's episodes by the time since the update before. */
  | 'tokens_per_second'
  /** Episodes of the update by the time since the update before. */
  | 'episodes_per_second'
  /** Turns of the update's episodes by the time since the update before. */
  | 'turns_per_second'
  /** With equal rewards that are neither all won nor all lost. */
  | 'groups_equal'

/** The figure of a metric. @example figureName('staleness.mean') // 'staleness_mean' */
export function figureName(name: NumberName): Underscored<NumberName> {
  return name.replace('.', '_') as Underscored<NumberName>
}

/** Figures of one task. */
export const taskColumns = [
  // Share of the episodes that succeeded, with its 95 % interval: groups are what is drawn, not episodes.
  ...(['success', 'success_low', 'success_high'] as const),
  // Mean reward of the environment.
  'reward',
  // Mean of the reward that learning uses, with its 95 % interval over groups.
  ...(['shaped_reward', 'shaped_reward_low', 'shaped_reward_high'] as const),
  ...(['episodes', 'groups_won', 'groups_lost', 'groups_mixed'] as const),
  // The task's share of the gradient.
  'gradient_share',
] as const
export type TaskCurves = Readonly<Record<(typeof taskColumns)[number], Column>>

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
  /** By task: each metric that its environment declares as `NAME`, with its 95 % interval over groups as `NAME/low` and `NAME/high`. */
  readonly metrics: Readonly<Record<string, Readonly<Record<string, Column>>>>
  /** By name of such a metric. */
  readonly units: Readonly<Record<string, string>>
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
