/**
 * The work of a training run in one process, without Temporal and without a store: what durability is compared with.
 *
 * Invariants
 * - Groups are admitted, skipped and consumed by the rules of the run, so that playing and training overlap as there.
 * - Engine, environment and update are the code that a run executes; what was played stays in memory.
 */
import { rewardOf } from '../../activities/calls/failure.ts'
import { createServing, type Serving } from '../../activities/play/serving.ts'
import type { OpenRun, OpenRuns } from '../../activities/stored/open-runs.ts'
import { batchGroup } from '../../activities/update/batch-figures.ts'
import { updatePolicy } from '../../activities/update/policy-update.ts'
import { episodeId, type GroupId, groupId, type RunId } from '../../identity/identity.ts'
import { rewardRules } from '../../learning/evaluation/reward.ts'
import { admissible, nextBatch } from '../../learning/rollout/admission.ts'
import { firstPool, poolAt, refreshPool } from '../../learning/rollout/cross-policy.ts'
import { groupTeaches, mostSkipped } from '../../learning/rollout/refill.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { playEpisode } from './played-episode.ts'
import { playedGroupsInMemory } from './played-groups.ts'

interface Training {
  readonly opened: OpenRun
  readonly runs: OpenRuns
  readonly createEngine: (config: OpenRun['config'], run: RunId) => Promise<Engine>
  readonly trainer: Trainer
  /** Updates after which it ends. */
  readonly until: number
  readonly log: (line: string) => void
  /** Called before the first update and after each one; the next waits for it. */
  readonly onVersion?: (published: PublishedVersion) => Promise<void>
}

/** A version, and what plays it. */
export interface PublishedVersion {
  /** Updates until then. */
  readonly step: number
  readonly version: number
  readonly serving: Serving
}

interface AdmittedGroup {
  readonly number: number
  readonly version: number
}

/** Trains from the run's version 0, which must be there, and returns after the last update. */
export async function trainInOneProcess(training: Training): Promise<void> {
  const { opened, runs, createEngine, trainer, until, log, onVersion } = training
  const { run, config } = opened
  const serving = createServing({ runs, createEngine, log })
  const played = playedGroupsInMemory()
  const bound = config.rollout
  const inFlight = new Map<number, AdmittedGroup>()
  let ready: AdmittedGroup[] = []
  let skipped: AdmittedGroup[] = []
  let pool: readonly number[] = firstPool(config.crossPolicy)
  let [version, step, admitted] = [0, 0, 0]
  let changed = change()

  async function playGroup(group: AdmittedGroup): Promise<void> {
    const id = groupId(run, group.number)
    const playing = { opened, serving, version: () => version, pool: poolAt(group.version, pool) }
    const trajectories = await Promise.all(
      Array.from({ length: config.rollout.groupSize }, (_, sample) =>
        playEpisode(episodeId(id, sample, 1), group.number, playing),
      ),
    )
    const episodes = trajectories.map(({ episode }) => episode)
    const { task = '', instance = '' } = episodes[0] ?? {}
    const result = {
      status: 'complete',
      episodes: episodes.map((episode) => episode.id),
      rewards: episodes.map(({ id, seal }) => rewardOf(id, seal.outcome, seal.reward)),
      oldestVersion: group.version,
      ended: 0,
    } as const
    played.add({ id, run, ...group, task, instance, created: 0, status: 'complete', result }, trajectories)
    inFlight.delete(group.number)
    const isSkipped =
      !groupTeaches(batchGroup(task, trajectories, rewardRules(config, task)), config.learning) &&
      skipped.length < mostSkipped(config.rollout)
    if (isSkipped) skipped.push(group)
    else ready.push(group)
    changed.resolve()
  }

  function admit(): void {
    const now = { outstanding: inFlight.size + ready.length, inFlight: inFlight.size }
    const updatesLeft = config.training.updates - step
    for (let room = admissible(bound, { ...now, updatesLeft }); room > 0; room--) {
      const group = { number: admitted++, version }
      inFlight.set(group.number, group)
      playGroup(group).catch((error: unknown) => changed.reject(error))
    }
  }

  function takeBatch(): readonly AdmittedGroup[] | undefined {
    const versionsOf = (groups: Iterable<AdmittedGroup>) => Array.from(groups, (group) => group.version)
    const now = { version, ready: versionsOf(ready), inFlight: versionsOf(inFlight.values()) }
    const positions = nextBatch(bound, now)
    if (positions === undefined) return undefined
    const taken = ready.filter((_, position) => positions.includes(position))
    ready = ready.filter((_, position) => !positions.includes(position))
    return taken
  }

  async function update(batch: readonly AdmittedGroup[]): Promise<void> {
    const idOf = (group: AdmittedGroup): GroupId => groupId(run, group.number)
    const groups = batch.map((group) => ({ group: idOf(group), version: group.version }))
    const beside = skipped.map(idOf)
    skipped = []
    const request = {
      ...{ run, step: step + 1, version, groups, skipped: beside, learning: {}, waitedSeconds: 0 },
      taskWeights: config.tasks.map(({ weight }) => weight),
    }
    const tools = { store: played.store, trainerOf: () => trainer, onProgress: () => undefined, log }
    const { version: next } = await updatePolicy(request, opened, tools)
    step += 1
    const before = version
    pool = refreshPool(pool, { before, current: next }, config.crossPolicy)
    await serving.prepare(run, next)
    version = next
    // A turn that is being sampled may still be one of the version before.
    await serving.keepOnly(run, [...pool, before, next])
    played.drop([...groups.map(({ group }) => group), ...beside])
    log(`update ${step}: ${groups.length} groups, ${beside.length} more were skipped`)
    await onVersion?.({ step, version, serving })
  }

  try {
    await serving.prepare(run, 0)
    await onVersion?.({ step, version, serving })
    while (step < until) {
      admit()
      const batch = takeBatch()
      if (batch !== undefined) {
        await update(batch)
        continue
      }
      await changed.promise
      changed = change()
    }
  } finally {
    // Episodes in progress fail of the closed engine.
    await serving.closeAll()
  }
}

/** The next end of a group, or what failed of it; it may be awaited late. */
function change(): PromiseWithResolvers<void> {
  const next = Promise.withResolvers<void>()
  next.promise.catch(() => undefined)
  return next
}
