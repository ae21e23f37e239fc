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
import { isSynchronous } from '../learning/admission.ts'
import { planBatch } from '../learning/batch-plan.ts'
import { drawnFromPool } from '../learning/cross-policy.ts'
import type { UpdateBatch } from '../policy/trainer/batch.ts'
import type { Episodes } from '../storage/episodes.ts'
import { StorageFault } from '../storage/fault.ts'
import type { Groups } from '../storage/groups.ts'
import type { Trajectory } from '../storage/trajectory.ts'
import {
  type CollectedEpisode,
  type CollectedFigures,
  type CollectedGroup,
  figuresOf,
  rewardIn,
} from './batch-figures.ts'

export interface CollectedBatch {
  /** Null where no group carries a preference: there is nothing to learn from. */
  readonly batch: UpdateBatch | null
  readonly figures: CollectedFigures
}

/** Where groups and their trajectories are read. */
export interface PlayedGroups {
  readonly groups: Pick<Groups, 'get'>
  readonly episodes: Pick<Episodes, 'trajectory'>
}

/** What of a run decides on its batches. */
export type BatchRules = Pick<RunConfig, 'seed' | 'tasks' | 'rollout' | 'crossPolicy' | 'learning'>

/** @throws StorageFault `missing`, `corrupt`; UnrewardedEpisode */
export async function collectBatch(
  store: PlayedGroups,
  groups: readonly GroupId[],
  rules: BatchRules,
): Promise<CollectedBatch> {
  const collected: CollectedGroup[] = []
  for (const id of groups) collected.push(await collectGroup(store, id, rules))
  const plan = planBatch(
    collected.map(({ task, episodes }) => ({
      task,
      rewards: episodes.map(rewardIn),
      actionTokens: episodes.map(({ trajectory }) => trajectory.episode.seal.actionTokens),
    })),
    {
      ...rules.learning,
      taskWeights: Object.fromEntries(rules.tasks.map(({ task, weight }) => [task, weight])),
    },
  )
  const learnt = collected.flatMap(({ episodes }, index) => {
    const { advantages = [], tokenWeights = [], inLoss = false } = plan.groups[index] ?? {}
    if (!inLoss) return []
    return episodes.map((played, sample) => ({
      ...played,
      advantage: advantages[sample] ?? 0,
      weight: tokenWeights[sample] ?? 0,
    }))
  })
  return {
    batch: plan.actionTokens === 0 ? null : batchOf(learnt, rules.learning),
    figures: figuresOf(collected, plan),
  }
}

async function collectGroup(store: PlayedGroups, id: GroupId, rules: BatchRules): Promise<CollectedGroup> {
  const group = await store.groups.get(id)
  if (group?.result === undefined) throw new StorageFault('missing', `group ${id} has no result in the store`)
  const { task, version, result } = group
  const episodes: CollectedEpisode[] = []
  for (const episode of result.episodes) {
    const trajectory = await store.episodes.trajectory(episode)
    episodes.push({ trajectory, stale: staleTurns(trajectory, version, rules) })
  }
  return { task, version, episodes }
}

/**
 * For each turn whether it was drawn from the pool, whose members are older than the version that the group was admitted
 * with. Before the first update both are version 0: then only the draws tell.
 * @returns [turns]
 */
function staleTurns(
  { episode: { id }, turns }: Trajectory,
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

function batchOf(
  episodes: readonly (CollectedEpisode & { readonly advantage: number; readonly weight: number })[],
  { lossAggregation }: BatchRules['learning'],
): UpdateBatch {
  const total = episodes.reduce((sum, { trajectory }) => sum + trajectory.tokens.length, 0)
  const batch: UpdateBatch & { readonly stale: Uint8Array } = {
    tokens: new Int32Array(total),
    offsets: new Int32Array(episodes.length + 1),
    lossMask: new Uint8Array(total),
    behaviourLogprobs: new Float32Array(total),
    versions: new Int32Array(total),
    advantages: new Float32Array(total),
    // Without weights all tokens count alike.
    ...(lossAggregation === 'token' ? {} : { weights: new Float32Array(total) }),
    stale: new Uint8Array(total),
  }
  let at = 0
  for (const [index, { trajectory, stale, advantage, weight }] of episodes.entries()) {
    batch.tokens.set(trajectory.tokens, at)
    batch.lossMask.set(trajectory.lossMask, at)
    batch.behaviourLogprobs.set(trajectory.logprobs, at)
    batch.versions.set(trajectory.versions, at)
    for (const [turn, { begin, end }] of trajectory.turns.entries()) {
      batch.advantages.fill(advantage, at + begin, at + end)
      batch.weights?.fill(weight, at + begin, at + end)
      if (stale[turn]) batch.stale.fill(1, at + begin, at + end)
    }
    at += trajectory.tokens.length
    batch.offsets[index + 1] = at
  }
  return batch
}
