/**
 * One update as a point of the curves.
 *
 * Invariants
 * - Pure. A field that a line lacks is null.
 * - [UPDATE-POINT-1] Each group of an update is in one figure alone: won, lost, mixed, equal otherwise, or skipped.
 */
import { numberAt, numberRows } from '../../learning/run/metrics.ts'
import { groupedMean, groupedShare } from '../../learning/statistics/grouped-interval.ts'
import type { UpdateMetrics } from '../../storage/metrics/metrics.ts'
import { type FigureName, figureName, type TaskCurves } from '../contract/curves.ts'

export interface UpdatePoint {
  readonly step: number
  readonly version: number
  readonly time: number
  /** The turns of the update's episodes. */
  readonly turns: number
  readonly figures: Readonly<Record<FigureName, number | null>>
  readonly tasks: Readonly<Record<string, TaskPoint>>
  /** By task, as columns are named in `RunCurves.metrics`. */
  readonly metrics: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly fresh: UpdateMetrics['fresh']
  readonly stale: UpdateMetrics['stale']
}

export type TaskPoint = Readonly<Record<keyof TaskCurves, number | null>>

/** The rewards of a group. */
export interface GroupRewards {
  readonly task: string
  /** [group] */
  readonly rewards: readonly number[]
  readonly won: number
}

/** @param of.seconds since the update before; @param of.turns of the update's episodes */
export function figuresOf(
  line: UpdateMetrics,
  of: { readonly seconds: number; readonly turns: number },
): UpdatePoint['figures'] {
  const figures = Object.fromEntries(
    numberRows.map(([name]) => [figureName(name), numberAt(line, name) ?? null]),
  ) as UpdatePoint['figures']
  const each = (amount: number) => (of.seconds > 0 ? amount / of.seconds : null)
  const { groups, groups_with_preference: mixed, groups_won: won, groups_lost: lost } = line
  return {
    ...figures,
    tokens_per_second: each(line.action_tokens),
    episodes_per_second: each(line.episodes),
    turns_per_second: of.turns === 0 ? null : each(of.turns),
    groups_equal: Math.max(0, groups - mixed - won - lost),
  }
}

/** By task, for every one that the line names. */
export function taskPointsOf(
  line: UpdateMetrics,
  groups: readonly GroupRewards[],
): Readonly<Record<string, TaskPoint>> {
  return Object.fromEntries(
    Object.entries(line.success).map(([task, success]) => {
      const own = groups.filter((group) => group.task === task && group.rewards.length > 0)
      const share =
        own.length === 0
          ? undefined
          : groupedShare(
              own.map(({ won, rewards }) => won / rewards.length),
              own.map(({ rewards }) => rewards.length),
            )
      const shaped = groupedMean(own.map(({ rewards }) => sum(rewards) / rewards.length))
      const learnt = line.tasks[task]
      const point: TaskPoint = {
        success,
        success_low: share === undefined ? null : Math.min(success, share.low),
        success_high: share === undefined ? null : Math.max(success, share.high),
        reward: line.reward[task] ?? null,
        shaped_reward: line.shaped_reward[task] ?? null,
        shaped_reward_low: shaped?.low ?? null,
        shaped_reward_high: shaped?.high ?? null,
        episodes: line.samples[task] ?? null,
        groups_won: learnt?.won ?? null,
        groups_lost: learnt?.lost ?? null,
        groups_mixed: learnt?.mixed ?? null,
        gradient_share: learnt?.gradient_share ?? null,
      }
      return [task, point]
    }),
  )
}

/** The metrics of environments, by task. */
export function metricPointsOf({ metrics = {} }: UpdateMetrics): UpdatePoint['metrics'] {
  const points = Object.entries(metrics).map(([task, own]) => {
    const found = Object.entries(own).flatMap(([name, { value, low, high }]) => [
      [name, value] as const,
      [`${name}/low`, low] as const,
      [`${name}/high`, high] as const,
    ])
    return [task, Object.fromEntries(found)] as const
  })
  return Object.fromEntries(points)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
