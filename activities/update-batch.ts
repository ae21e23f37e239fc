/**
 * The batch of one update: from the groups it consumes to the tensors that the trainer reads.
 *
 * Invariants
 * - Every trajectory in it is verified against its seal; one that is not what was sealed is refused.
 * - Episodes stand in the order of groups and samples, so the same groups give the same bytes.
 * - Groups without preference are left out of the tensors, not of the figures.
 */
import type { RunConfig } from '../config/schema.ts'
import type { GroupId } from '../identity/identity.ts'
import { planBatch } from '../learning/batch-plan.ts'
import type { LearningSignal } from '../learning/learning-signal.ts'
import { isSuccess } from '../learning/reward.ts'
import type { UpdateBatch } from '../policy/trainer/batch.ts'
import type { Episodes } from '../storage/episodes.ts'
import { StorageFault } from '../storage/fault.ts'
import type { Groups } from '../storage/groups.ts'
import type { Trajectory } from '../storage/trajectory.ts'
import { rewardOf } from './failure.ts'
import type { UpdateFigures } from './update-metrics.ts'

/** What is known of an update before the trainer has run. */
export type CollectedFigures = Pick<
  UpdateFigures,
  | 'episodes'
  | 'tokens'
  | 'actionTokens'
  | 'reward'
  | 'shapedReward'
  | 'success'
  | 'samples'
  | 'staleShare'
  | 'groupsWithPreference'
  | 'signal'
>

export interface CollectedBatch {
  /** Null where no group carries a preference: there is nothing to learn from. */
  readonly batch: UpdateBatch | null
  readonly figures: CollectedFigures
}

interface CollectedGroup {
  readonly task: string
  /** Policy version when the group was admitted. */
  readonly version: number
  readonly trajectories: readonly Trajectory[]
}

/** Where groups and their trajectories are read. */
export interface PlayedGroups {
  readonly groups: Pick<Groups, 'get'>
  readonly episodes: Pick<Episodes, 'trajectory'>
}

/** @throws StorageFault `missing`, `corrupt`; UnrewardedEpisode */
export async function collectBatch(
  store: PlayedGroups,
  groups: readonly GroupId[],
  learning: Pick<RunConfig['learning'], 'advantage' | 'taskNormalization'>,
): Promise<CollectedBatch> {
  const collected: CollectedGroup[] = []
  for (const id of groups) {
    const group = await store.groups.get(id)
    if (group?.result === undefined)
      throw new StorageFault('missing', `group ${id} has no result in the store`)
    const trajectories: Trajectory[] = []
    for (const episode of group.result.episodes) trajectories.push(await store.episodes.trajectory(episode))
    collected.push({ task: group.task, version: group.version, trajectories })
  }
  const plan = planBatch(
    collected.map(({ task, trajectories }) => ({
      task,
      rewards: trajectories.map(rewardIn),
      actionTokens: trajectories.map(({ episode }) => episode.seal.actionTokens),
    })),
    learning,
  )
  const learnt = collected.flatMap(({ trajectories }, index) => {
    const { advantages, inLoss } = plan.groups[index] ?? { advantages: [], inLoss: false }
    return inLoss
      ? trajectories.map((trajectory, sample) => ({ trajectory, advantage: advantages[sample] ?? 0 }))
      : []
  })
  return {
    batch: plan.actionTokens === 0 ? null : batchOf(learnt),
    figures: figuresOf(collected, plan.withPreference),
  }
}

function batchOf(
  episodes: readonly { readonly trajectory: Trajectory; readonly advantage: number }[],
): UpdateBatch {
  const total = episodes.reduce((sum, { trajectory }) => sum + trajectory.tokens.length, 0)
  const batch = {
    tokens: new Int32Array(total),
    offsets: new Int32Array(episodes.length + 1),
    lossMask: new Uint8Array(total),
    behaviourLogprobs: new Float32Array(total),
    versions: new Int32Array(total),
    advantages: new Float32Array(total),
  }
  let at = 0
  for (const [index, { trajectory, advantage }] of episodes.entries()) {
    batch.tokens.set(trajectory.tokens, at)
    batch.lossMask.set(trajectory.lossMask, at)
    batch.behaviourLogprobs.set(trajectory.logprobs, at)
    batch.versions.set(trajectory.versions, at)
    for (const [time, counts] of trajectory.lossMask.entries())
      if (counts === 1) batch.advantages[at + time] = advantage
    at += trajectory.tokens.length
    batch.offsets[index + 1] = at
  }
  return batch
}

function figuresOf(groups: readonly CollectedGroup[], groupsWithPreference: number): CollectedFigures {
  const reward = new Map<string, number[]>()
  const shapedReward = new Map<string, number[]>()
  const success = new Map<string, number[]>()
  let [episodes, tokens, actionTokens, turns, staleTurns] = [0, 0, 0, 0, 0]
  for (const { task, version, trajectories } of groups)
    for (const trajectory of trajectories) {
      const { episode, tokens: all } = trajectory
      episodes += 1
      tokens += all.length
      actionTokens += episode.seal.actionTokens
      turns += trajectory.turns.length
      staleTurns += trajectory.turns.filter((turn) => turn.version < version).length
      append(reward, task, trajectory.paid)
      append(shapedReward, task, rewardIn(trajectory))
      append(success, task, isSuccess(episode.seal.outcome, episode.seal.reward) ? 1 : 0)
    }
  return {
    episodes,
    tokens,
    actionTokens,
    reward: meansOf(reward),
    shapedReward: meansOf(shapedReward),
    success: meansOf(success),
    samples: Object.fromEntries([...success].map(([task, values]) => [task, values.length])),
    staleShare: turns === 0 ? 0 : staleTurns / turns,
    groupsWithPreference,
    signal: signalOf(groups, groupsWithPreference),
  }
}

function signalOf(groups: readonly CollectedGroup[], withPreference: number): LearningSignal {
  const wins = groups.map(({ trajectories }) =>
    trajectories.map(({ episode }) => isSuccess(episode.seal.outcome, episode.seal.reward)),
  )
  const played = groups.flatMap(({ trajectories }) => trajectories)
  const actions = played.reduce((sum, { episode }) => sum + episode.seal.turns, 0)
  const shareOf = (count: (trajectory: Trajectory) => number) =>
    actions === 0 ? 0 : played.reduce((sum, trajectory) => sum + count(trajectory), 0) / actions
  return {
    groups: groups.length,
    withPreference,
    won: wins.filter((group) => group.every((isWon) => isWon)).length,
    lost: wins.filter((group) => !group.some((isWon) => isWon)).length,
    unusable: shareOf(({ unusable }) => unusable),
    cutOff: shareOf(({ cutOff }) => cutOff),
  }
}

function rewardIn({ episode: { id, seal } }: Trajectory): number {
  return rewardOf(id, seal.outcome, seal.reward)
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  lists.set(key, [...(lists.get(key) ?? []), value])
}

function meansOf(lists: ReadonlyMap<string, readonly number[]>): Record<string, number> {
  const means = [...lists].map(([key, values]) => [
    key,
    values.reduce((sum, value) => sum + value, 0) / values.length,
  ])
  return Object.fromEntries(means)
}
