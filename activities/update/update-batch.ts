/**
 * The batch of one update: from the groups it consumes to the tensors that the trainer reads.
 *
 * Invariants
 * - Every trajectory in it is verified against its seal; one that differs is refused.
 * - Episodes are in the order of groups and samples, so the same groups give the same bytes.
 * - Groups without preference are left out of the tensors, not of the figures. So are skipped groups; the groups alone decide which
 *   are skipped, not the order in which they ended.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import type { GroupId } from '../../identity/identity.ts'
import type { TurnAdvantage } from '../../learning/algorithms/algorithm.ts'
import { chosenLosses, lossOfTask } from '../../learning/algorithms/algorithms.ts'
import type { BatchGroup } from '../../learning/algorithms/batch-advantages.ts'
import { planBatch } from '../../learning/algorithms/batch-plan.ts'
import { imitates } from '../../learning/algorithms/imitation.ts'
import { rewardRules } from '../../learning/evaluation/reward.ts'
import { isSynchronous } from '../../learning/rollout/admission.ts'
import { drawnFromPool } from '../../learning/rollout/cross-policy.ts'
import { groupTeaches, trainedOn } from '../../learning/rollout/refill.ts'
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Groups } from '../../storage/records/groups.ts'
import type { Episodes } from '../../storage/trajectories/episodes.ts'
import type { LearntEpisode } from '../../storage/trajectories/learnt-episode.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'
import { advantagesBy } from './advantage-thread.ts'
import {
  batchGroup,
  type CollectedEpisode,
  type CollectedFigures,
  type CollectedGroup,
  figuresOf,
} from './batch-figures.ts'
import { type BatchEpisode, batchTensors } from './batch-tensors.ts'

export interface CollectedBatch {
  /** Null where there is nothing to learn from: no group carries a preference, and nothing is imitated. */
  readonly batch: UpdateBatch | null
  /** The record of the batch: its episodes in their order; empty without one. */
  readonly learnt: readonly LearntEpisode[]
  readonly figures: CollectedFigures
}

/** Where groups and their trajectories are read. */
export interface PlayedGroups {
  readonly groups: Pick<Groups, 'get'>
  readonly episodes: Pick<Episodes, 'trajectory'>
}

/** The part of a run's configuration that decides on its batches. */
export type BatchRules = Pick<RunConfig, 'seed' | 'tasks' | 'rollout' | 'crossPolicy' | 'learning'>

/** Groups of earlier updates. */
export interface EarlierGroups {
  /** They are learnt from once more. */
  readonly replays: readonly GroupId[]
  /** They are of instances of the update's own groups, and only compared with them. */
  readonly compared: readonly GroupId[]
}

/** Gives the learnt value of each turn of episodes: [episodes][turns]. */
export type TurnValues = (played: readonly Trajectory[]) => Promise<readonly (readonly number[])[]>

/** A group before the batch decides which are trained on. */
type PlayedGroup = Omit<CollectedGroup, 'skipped' | 'replayed'>

/**
 * @param earlier groups of earlier updates; what retention has deleted of them is left out
 * @param valuesOf where the algorithm reads values
 * @throws StorageFault `missing`, `corrupt`; UnrewardedEpisode; ExternalFault of a custom algorithm
 */
export async function collectBatch(
  store: PlayedGroups,
  groups: readonly GroupId[],
  rules: BatchRules,
  earlier: EarlierGroups = { replays: [], compared: [] },
  valuesOf?: TurnValues,
): Promise<CollectedBatch> {
  const played: PlayedGroup[] = []
  for (const id of groups) played.push(await collectGroup(store, id, rules))
  const lessons = played.map((group) => groupTeaches(comparable(group, rules), rules.learning))
  const trained = trainedOn(lessons, rules.rollout.groupsPerUpdate)
  const collected = played.map((group, index): CollectedGroup => {
    return { ...group, skipped: trained[index] === false, replayed: false }
  })
  // Earlier groups are nothing to learn from alone.
  const replayed = (lessons.includes(true) ? await collectEarlier(store, earlier.replays, rules) : []).map(
    (group): CollectedGroup => ({ ...group, skipped: false, replayed: true }),
  )
  const compared = await collectEarlier(store, earlier.compared, rules)
  const learntFrom = [...collected.filter(({ skipped }) => !skipped), ...replayed]
  const values = await valuesByGroup(learntFrom, valuesOf)
  const learnable = learntFrom.map((group, index) => ({
    ...comparable(group, rules, values?.[index]),
    ...(group.replayed ? { replayWeight: rules.learning.replay.weight } : {}),
  }))
  const found = await advantagesBy(rules.learning.algorithm, learnable, {
    ...rules.learning,
    ...(compared.length === 0 ? {} : { earlier: compared.map((group) => comparable(group, rules)) }),
  })
  const plan = planBatch(learnable, found, {
    ...rules.learning,
    taskWeights: Object.fromEntries(rules.tasks.map(({ task, weight }) => [task, weight])),
  })
  const losses = chosenLosses(rules)
  const batchEpisodes = learntFrom.flatMap(({ task, episodes, replayed: isReplayed }, index) => {
    const {
      advantages = [],
      tokenWeights = [],
      imitationWeights = [],
      inBatch = [],
    } = plan.groups[index] ?? {}
    return episodes
      .map((episode, sample) => ({
        ...episode,
        isReplayed,
        advantages: perTurn(advantages[sample] ?? [], episode.trajectory.turns.length),
        weight: tokenWeights[sample] ?? 0,
        imitation: imitationWeights[sample] ?? 0,
        loss: losses.indexOf(lossOfTask(rules, task)),
        valueTargets: found.valueTargets?.[index]?.[sample] ?? [],
      }))
      .filter((_, sample) => inBatch[sample])
  })
  const { observationWeight } = rules.learning
  const isImitating = imitates(rules.learning) || observationWeight > 0
  const isWeighted = rules.learning.lossAggregation !== 'token' || isImitating || replayed.length > 0
  const isEmpty = plan.actionTokens === 0
  return {
    batch: isEmpty
      ? null
      : batchTensors(batchEpisodes, {
          isWeighted,
          isImitating,
          observationWeight,
          hasLosses: losses.length > 1,
          hasValues: values !== undefined,
        }),
    learnt: isEmpty ? [] : learntEpisodes(batchEpisodes, { isWeighted, isImitating }),
    figures: figuresOf(collected, plan, replayed),
  }
}

/** The record of the episodes of a batch. */
function learntEpisodes(
  episodes: readonly (BatchEpisode & {
    readonly trajectory: Trajectory
    readonly isReplayed: boolean
    readonly weight: number
    readonly imitation: number
  })[],
  { isWeighted, isImitating }: { readonly isWeighted: boolean; readonly isImitating: boolean },
): readonly LearntEpisode[] {
  return episodes.map(({ trajectory, isReplayed, advantages, weight, imitation }) => ({
    episode: trajectory.episode.id,
    source: isReplayed ? 'replayed' : 'played',
    tokens: trajectory.tokens.length,
    advantages,
    weight: isWeighted ? weight : 1,
    imitation: isImitating ? imitation : 0,
  }))
}

/** The learnt values of groups: [groups][group][turns]; undefined where the algorithm reads none. */
async function valuesByGroup(
  groups: readonly CollectedGroup[],
  valuesOf: TurnValues | undefined,
): Promise<readonly (readonly (readonly number[])[])[] | undefined> {
  const played = groups.map(({ episodes }) => episodes.map(({ trajectory }) => trajectory))
  const found = await valuesOf?.(played.flat())
  let begin = 0
  return (
    found &&
    played.map(({ length }) => {
      begin += length
      return found.slice(begin - length, begin)
    })
  )
}

function comparable(
  { task, episodes }: PlayedGroup,
  rules: BatchRules,
  values?: readonly (readonly number[])[],
): BatchGroup {
  const trajectories = episodes.map(({ trajectory }) => trajectory)
  return batchGroup(task, trajectories, rewardRules(rules, task), values)
}

/** Groups of earlier updates, without those that retention has deleted. */
async function collectEarlier(
  store: PlayedGroups,
  groups: readonly GroupId[],
  rules: BatchRules,
): Promise<PlayedGroup[]> {
  const found: PlayedGroup[] = []
  for (const id of groups) {
    try {
      found.push(await collectGroup(store, id, rules))
    } catch (error) {
      if (!(error instanceof StorageFault && error.kind === 'missing')) throw error
    }
  }
  return found
}

async function collectGroup(store: PlayedGroups, id: GroupId, rules: BatchRules): Promise<PlayedGroup> {
  const group = await store.groups.get(id)
  if (group?.result === undefined) throw new StorageFault('missing', `group ${id} has no result in the store`)
  const { task, version, result } = group
  const episodes: CollectedEpisode[] = []
  for (const episode of result.episodes) {
    const trajectory = await store.episodes.trajectory(episode, rules.learning.branches)
    episodes.push({ trajectory, stale: staleTurns(trajectory, version, rules) })
  }
  return { task, version, episodes }
}

/** The advantage of each turn of an episode. @param advantages [1] of all of them, or [turns] */
function perTurn(advantages: readonly TurnAdvantage[], turns: number): readonly TurnAdvantage[] {
  const [first = 0] = advantages
  return advantages.length === turns ? advantages : Array.from({ length: turns }, () => first)
}

/**
 * For each turn whether it was drawn from the pool, whose members are older than the version that the group was admitted
 * with. Before the first update both are version 0: then only the draws tell.
 * @returns [turns]
 */
export function staleTurns(
  { episode: { id }, turns }: Pick<Trajectory, 'episode' | 'turns'>,
  admittedAt: number,
  { seed, rollout, crossPolicy: { poolSize, staleShare } }: BatchRules,
): readonly boolean[] {
  if (admittedAt > 0) return turns.map(({ version }) => version < admittedAt)
  const attemptsDrawAlike = isSynchronous(rollout)
  return drawnFromPool(
    { seed, episode: id, attemptsDrawAlike, staleShare: poolSize === 0 ? 0 : staleShare },
    turns.length,
  )
}
