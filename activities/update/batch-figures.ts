/**
 * Figures of the groups that an update consumes, before the trainer has run.
 *
 * Invariants
 * - All groups count, also those without preference, from which nothing is learnt, and skipped ones: the figures describe the policy,
 *   whatever the update learns from. Only the figures by task are of the groups trained on.
 */

import type { BatchGroup } from '../../learning/algorithms/batch-advantages.ts'
import type { BatchPlan } from '../../learning/algorithms/batch-plan.ts'
import { comparedSteps } from '../../learning/algorithms/step-groups.ts'
import type { Estimate } from '../../learning/evaluation/measure.ts'
import { keepsPay, type RewardRules } from '../../learning/evaluation/reward.ts'
import type { TurnWorth } from '../../learning/rollout/adaptive-pool.ts'
import type { LearningSignal } from '../../learning/run/learning-signal.ts'
import { type PlayedFigures, playedFigures } from '../../learning/run/metrics.ts'
import { groupedMean } from '../../learning/statistics/grouped-interval.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'
import { rewardOf } from '../calls/failure.ts'
import type { SkippedFigures, TaskFigures, UpdateFigures } from '../metrics/update-metrics.ts'

/** An episode of a batch. */
export interface CollectedEpisode {
  readonly trajectory: Trajectory
  /** [turns] whether each was drawn from the pool of older versions. */
  readonly stale: readonly boolean[]
}

export interface CollectedGroup {
  readonly task: string
  /** Policy version when the group was admitted. */
  readonly version: number
  readonly episodes: readonly CollectedEpisode[]
  /** Played for the update, and not trained on: it teaches nothing, and the batch is full without it. */
  readonly skipped: boolean
  /** The group is of an earlier update, and learnt from once more. */
  readonly replayed: boolean
}

/** Worth of the turns of a member of the pool; of all fresh turns where the version is null. */
export interface OriginWorth extends TurnWorth {
  readonly version: number | null
}

/** Figures of an update before the trainer has run. */
export type CollectedFigures = Pick<
  UpdateFigures,
  | 'reward'
  | 'shapedReward'
  | 'success'
  | 'samples'
  | 'metrics'
  | 'groupsWithPreference'
  | 'signal'
  | 'tasks'
  | 'skipped'
  | 'replayed'
> &
  PlayedFigures & { readonly worth: readonly OriginWorth[] }

/** The figures of groups and of their batch plan. @param replayed groups that are learnt from once more */
export function figuresOf(
  groups: readonly CollectedGroup[],
  { withPreference: groupsWithPreference, tasks }: Pick<BatchPlan, 'withPreference' | 'tasks'>,
  replayed: readonly CollectedGroup[],
): CollectedFigures {
  const reward = new Map<string, number[]>()
  const shapedReward = new Map<string, number[]>()
  const success = new Map<string, number[]>()
  let [episodes, tokens, actionTokens, turns, staleTurns] = [0, 0, 0, 0, 0]
  for (const { task, episodes: played } of groups)
    for (const one of played) {
      episodes += 1
      tokens += one.trajectory.tokens.length
      actionTokens += actionTokensOf(one.trajectory)
      turns += one.stale.length
      staleTurns += one.stale.filter((isStale) => isStale).length
      append(reward, task, one.trajectory.paid)
      append(shapedReward, task, rewardIn(one))
      append(success, task, isWon(one) ? 1 : 0)
    }
  return {
    ...playedFigures({
      ...{ episodes, tokens, actionTokens, turns, staleTurns },
      comparedTurns: comparedTurns(groups),
    }),
    reward: meansOf(reward),
    shapedReward: meansOf(shapedReward),
    success: meansOf(success),
    samples: Object.fromEntries([...success].map(([task, values]) => [task, values.length])),
    ...metricsOf(groups),
    tasks: taskFigures(
      groups.filter(({ skipped }) => !skipped),
      tasks,
    ),
    skipped: skippedFigures(groups.filter(({ skipped }) => skipped)),
    worth: worthOf(groups),
    ...(replayed.length === 0 ? {} : { replayed: replayed.length }),
    groupsWithPreference,
    signal: signalOf(groups, groupsWithPreference),
  }
}

function signalOf(groups: readonly CollectedGroup[], withPreference: number): LearningSignal {
  const { won, lost } = wonAndLost(groups)
  const played = groups.flatMap(({ episodes }) => episodes.map(({ trajectory }) => trajectory))
  const actions = played.reduce((sum, { episode }) => sum + episode.seal.turns, 0)
  const shareOf = (count: (trajectory: Trajectory) => number) =>
    actions === 0 ? 0 : played.reduce((sum, trajectory) => sum + count(trajectory), 0) / actions
  return {
    groups: groups.length,
    withPreference,
    won,
    lost,
    unusable: shareOf(({ unusable }) => unusable),
    cutOff: shareOf(({ cutOff }) => cutOff),
  }
}

/** Metrics of the environments, where they declare any. */
function metricsOf(groups: readonly CollectedGroup[]): Pick<UpdateFigures, 'metrics'> {
  const byTask = [...Map.groupBy(groups, ({ task }) => task)].flatMap(([task, own]) => {
    const found = own.map(({ episodes }) =>
      episodes.map(({ trajectory }) => trajectory.episode.seal.metrics ?? {}),
    )
    const names = [...new Set(found.flat().flatMap((metrics) => Object.keys(metrics)))]
    const means = names.map((name) => {
      const values = found.map((metrics) => metrics.flatMap((each) => each[name] ?? []))
      return [name, meanOverGroups(values.filter(({ length }) => length > 0))] as const
    })
    return names.length === 0 ? [] : [[task, Object.fromEntries(means)] as const]
  })
  return byTask.length === 0 ? {} : { metrics: Object.fromEntries(byTask) }
}

/** @param groups [groups][samples] */
function meanOverGroups(groups: readonly (readonly number[])[]): Estimate {
  const value = meanOf(groups.flat())
  const { low, high } = groupedMean(groups.map(meanOf)) ?? { low: value, high: value }
  return { value, low: Math.min(value, low), high: Math.max(value, high) }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The cost of the groups that were skipped. */
function skippedFigures(groups: readonly CollectedGroup[]): SkippedFigures {
  const episodes = groups.flatMap((group) => group.episodes.map(({ trajectory }) => trajectory))
  // An episode may end before it began: its times may be of two machines, or of a clock that was set.
  const milliseconds = episodes.map(({ episode: { created, seal } }) => Math.max(0, seal.ended - created))
  return {
    groups: groups.length,
    ...wonAndLost(groups),
    episodes: episodes.length,
    tokens: episodes.reduce((sum, each) => sum + each.tokens.length, 0),
    seconds: milliseconds.reduce((sum, each) => sum + each, 0) / 1000,
  }
}

function wonAndLost(groups: readonly CollectedGroup[]): { readonly won: number; readonly lost: number } {
  return {
    won: groups.filter(({ episodes }) => episodes.every(isWon)).length,
    lost: groups.filter(({ episodes }) => !episodes.some(isWon)).length,
  }
}

/** The figures of each task, with its share of the gradient. */
function taskFigures(
  groups: readonly CollectedGroup[],
  planned: BatchPlan['tasks'],
): Readonly<Record<string, TaskFigures>> {
  const figures = [...planned].map(([task, { moments, gradientShare }]): [string, TaskFigures] => {
    const own = groups.filter((group) => group.task === task)
    const { won, lost } = wonAndLost(own)
    const mixed = own.length - won - lost
    const { mean, deviation } = moments
    return [task, { won, lost, mixed, mean, deviation, gradientShare }]
  })
  return Object.fromEntries(figures)
}

/** Worth of the turns of each origin. */
function worthOf(groups: readonly CollectedGroup[]): readonly OriginWorth[] {
  const worths = new Map<string, OriginWorth>()
  for (const { episodes } of groups)
    for (const played of episodes)
      for (const [turn, stale] of played.stale.entries()) {
        // Fresh turns count together, whatever version was current.
        const version = stale ? (played.trajectory.turns[turn]?.version ?? null) : null
        const { turns, won } = worths.get(`${version}`) ?? { turns: 0, won: 0 }
        worths.set(`${version}`, { version, turns: turns + 1, won: won + (isWon(played) ? 1 : 0) })
      }
  return [...worths.values()].sort((a, b) => (a.version ?? -1) - (b.version ?? -1))
}

function isWon({ trajectory: { episode } }: CollectedEpisode): boolean {
  return episode.seal.success
}

/** A group as an algorithm compares it. @param values [group][turns] learnt, where it reads them @throws UnrewardedEpisode */
export function batchGroup(
  task: string,
  played: readonly Trajectory[],
  rules: RewardRules,
  values?: readonly (readonly number[])[],
): BatchGroup {
  const instance = played[0]?.episode.instance
  return {
    task,
    ...(instance === undefined ? {} : { instance }),
    rewards: played.map((trajectory) => rewardIn({ trajectory })),
    atLeast: rules.atLeast,
    actionTokens: played.map(actionTokensOf),
    episodes: played.map(({ episode: { seal }, turns }, sample) => ({
      completed: seal.outcome === 'completed',
      keepsPay: keepsPay(seal.outcome, rules),
      steps: turns.map(({ state, paid }) => ({ state, paid })),
      turnTokens: turns.map(({ begin, end }) => end - begin),
      ...(values === undefined ? {} : { values: values[sample] ?? [] }),
    })),
  }
}

/** Action tokens of an episode. */
export function actionTokensOf({ turns }: Pick<Trajectory, 'turns'>): number {
  return turns.reduce((sum, { begin, end }) => sum + end - begin, 0)
}

/** The turns whose state is also the state of another turn of their group. */
function comparedTurns(groups: readonly CollectedGroup[]): number {
  const played = groups.map(({ episodes }) => episodes.map(({ trajectory }) => trajectory))
  return played.reduce((sum, group) => sum + comparedSteps(group), 0)
}

/** The reward that learning uses. @throws UnrewardedEpisode */
export function rewardIn({ trajectory: { episode } }: Pick<CollectedEpisode, 'trajectory'>): number {
  return rewardOf(episode.id, episode.seal.outcome, episode.seal.reward)
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  lists.set(key, [...(lists.get(key) ?? []), value])
}

function meansOf(lists: ReadonlyMap<string, readonly number[]>): Record<string, number> {
  return Object.fromEntries([...lists].map(([key, values]) => [key, meanOf(values)]))
}
