/**
 * What an update learnt from each of its groups: advantages and weights, from its batch file where it is kept, else by
 * its rules from the rewards that the store has.
 *
 * Invariants
 * - [LEARNT-1] An advantage from the batch file is the one that the trainer read, and the file's tokens are compared with
 *   those of the episode: where they are others, the rules are asked.
 * - [LEARNT-2] By the rules it is what `learning/batch-plan.ts` says with the settings that held then: the audit trail has
 *   what was changed since.
 * - What was read is kept for the last few updates that were asked about: a page asks for many episodes of one.
 */
import { statSync } from 'node:fs'
import { actionTokensFrom, steppedEpisode } from '../activities/batch-figures.ts'
import { advantageOf } from '../activities/own-learning.ts'
import type { RunConfig } from '../config/schema.ts'
import type { EpisodeId, GroupId, RunId } from '../identity/identity.ts'
import { isAdvantageEstimator } from '../learning/advantage.ts'
import { type BatchGroup, planBatch } from '../learning/batch-plan.ts'
import { teaches, trainedOn } from '../learning/refill.ts'
import { advantagesFrom, comparedSamples } from '../learning/tree-group.ts'
import type { UpdateBatch } from '../policy/trainer/batch.ts'
import { readUpdateBatch } from '../policy/trainer/batch-file.ts'
import { readTokenFigures, type TokenFigures } from '../policy/trainer/token-figures.ts'
import type { AuditEntry } from '../storage/audit.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import type { Trajectory } from '../storage/trajectory.ts'
import { settingAt, weightsAt } from './past-settings.ts'

/** A larger file would be noticed by those who wait for an episode. */
const largestBatchFile = 64 * 1024 * 1024
const keptUpdates = 4

/** Where runs have learnt. */
export interface LearningHome {
  readonly home: Home
  readonly store: Store
}

/** What says by which rules a run learnt. */
export interface LearningRun {
  readonly id: RunId
  readonly config: RunConfig
  readonly trail: readonly AuditEntry[]
}

export interface LearntGroup {
  readonly from: 'batch' | 'rules'
  /** By episode, those that were learnt from. */
  readonly episodes: ReadonlyMap<EpisodeId, LearntEpisode>
}

/** What the update made of an episode. */
export interface LearntEpisode {
  /** [1], or [turns] where each has its own. */
  readonly advantages: readonly number[]
  /** Of each action token in the loss; over the update they add up to 1. */
  readonly weight: number
  /** Where it is in the batch file, where that is kept. [time] each. */
  readonly batch?: {
    readonly file: string
    /** Place of its first token. */
    readonly begin: number
    readonly tokens: Int32Array
    readonly advantages: Float32Array
    readonly weights: Float32Array | undefined
    /** What the update found of each token, where its trainer wrote that. */
    readonly figures: TokenFigures | undefined
  }
}

export interface LearntUpdate {
  readonly step: number
  /** The version that it published. */
  readonly version: number
  /** Whether tokens count differently. */
  readonly isWeighted: boolean
  readonly groups: ReadonlyMap<string, LearntGroup>
}

export interface LearntGroups {
  /** Undefined where the run has no such update. */
  update(run: LearningRun, step: number): Promise<LearntUpdate | undefined>
}

export function createLearntGroups(shown: LearningHome): LearntGroups {
  const kept = new Map<string, Promise<LearntUpdate | undefined>>()
  return {
    update(run, step) {
      const key = `${run.id} ${step}`
      const found = kept.get(key) ?? learntUpdate(shown, run, step)
      kept.delete(key)
      kept.set(key, found)
      found.catch(() => kept.delete(key))
      for (const oldest of kept.keys()) {
        if (kept.size <= keptUpdates) break
        kept.delete(oldest)
      }
      return found
    },
  }
}

/** What an update made of the tokens of an episode; undefined where it has learnt nothing from it. */
export async function learntTokens(
  learntGroups: LearntGroups,
  run: LearningRun,
  { episode, tokens, turns }: Trajectory,
  step: number,
): Promise<{ readonly advantages: Float32Array; readonly from: LearntGroup['from'] } | undefined> {
  const update = await learntGroups.update(run, step)
  const learnt = update?.groups.get(episode.parent)?.episodes.get(episode.id)
  if (learnt === undefined) return undefined
  const { batch, advantages: byTurn } = learnt
  const isSame =
    batch?.tokens.length === tokens.length && batch.tokens.every((token, at) => token === tokens[at])
  if (batch !== undefined && isSame) return { advantages: batch.advantages, from: 'batch' }
  const advantages = new Float32Array(tokens.length)
  for (const [turn, { begin, end }] of turns.entries())
    advantages.fill(byTurn[turn] ?? byTurn[0] ?? 0, begin, end)
  return { advantages, from: 'rules' }
}

async function learntUpdate(
  { home, store }: LearningHome,
  run: LearningRun,
  step: number,
): Promise<LearntUpdate | undefined> {
  const update = await store.updates.get(run.id, step)
  if (update === undefined) return undefined
  const rules = rulesAt(run, update.version)
  const played: PlayedGroup[] = []
  for (const id of update.groups) played.push(await playedGroup(store, id, rules))
  const trained = trainedOn(
    played.map(({ rewards }) => teaches(rewards, rules.learning)),
    rules.groupsPerUpdate,
  )
  const learntFrom = played.filter((_, index) => trained[index] !== false)
  const advantage = await advantageOf(rules.learning.advantage, learntFrom)
  const taskWeights = weightsAt(run, update.version)
  const plan = planBatch(learntFrom, { ...rules.learning, advantage, taskWeights })
  const directory = home.run(run.id)
  const file = directory.batchFile(step)
  const batch = await batchAt(file, directory.tokenFile(step))
  const groups = new Map<string, LearntGroup>(
    played.map(({ id }) => [id, { from: 'rules', episodes: new Map() }]),
  )
  let place = 0
  for (const [index, { id, compared, turns }] of learntFrom.entries()) {
    const { advantages = [], tokenWeights = [], inBatch = [] } = plan.groups[index] ?? {}
    const learnt = new Map<EpisodeId, LearntEpisode>()
    for (const [sample, episode] of compared.entries()) {
      if (inBatch[sample] !== true) continue
      const found = batch && foundIn(batch, place++)
      learnt.set(episode, {
        advantages: spread(advantages[sample] ?? [], turns[sample]),
        weight: tokenWeights[sample] ?? 0,
        ...(found === undefined ? {} : { batch: { ...found, file } }),
      })
    }
    groups.set(id, { from: batch === undefined ? 'rules' : 'batch', episodes: learnt })
  }
  const isWeighted = rules.learning.lossAggregation !== 'token' || batch?.weights !== undefined
  return { step, version: update.version, isWeighted, groups }
}

type PlayedGroup = BatchGroup & {
  readonly id: GroupId
  /** Those that were compared with one another, and learnt from. */
  readonly compared: readonly EpisodeId[]
  /** [compared] where they were learnt from a turn after their first on, that turn, and how many there are. */
  readonly turns: readonly { readonly turns: number; readonly from: number }[]
}

function spread(advantages: readonly number[], turns: PlayedGroup['turns'][number] | undefined) {
  return turns === undefined ? advantages : advantagesFrom(advantages, turns)
}

async function playedGroup(
  { groups, episodes }: Store,
  id: GroupId,
  { learning }: UpdateRules,
): Promise<PlayedGroup> {
  const group = await groups.get(id)
  const { episodes: counted = [], rewards = [], tree } = group?.result ?? {}
  const samples = comparedSamples(counted, rewards, tree)
  const compared = samples.flatMap(({ index }) => counted[index] ?? [])
  const from = samples[0]?.from ?? 0
  const played = {
    id,
    task: group?.task ?? '',
    rewards: samples.map(({ index }) => rewards[index] ?? 0),
    compared,
  }
  // What was done in which state is asked for only where it counts.
  if (from > 0 || learning.stepGroups.weight > 0 || !isAdvantageEstimator(learning.advantage)) {
    const all = await Promise.all(compared.map((episode) => episodes.trajectory(episode)))
    return {
      ...played,
      actionTokens: all.map((trajectory) => actionTokensFrom(trajectory, from)),
      episodes: all.map((trajectory) => steppedEpisode(trajectory, from)),
      turns: from === 0 ? [] : all.map(({ turns }) => ({ turns: turns.length, from })),
    }
  }
  const tokens = new Map((await episodes.list(id)).map((each) => [each.id, each.seal?.actionTokens ?? 0]))
  return { ...played, actionTokens: compared.map((episode) => tokens.get(episode) ?? 0), turns: [] }
}

interface UpdateRules {
  readonly learning: RunConfig['learning']
  readonly groupsPerUpdate: number
}

/** How the update that published a version learnt. */
function rulesAt({ config, trail }: LearningRun, version: number): UpdateRules {
  const learning: unknown = structuredClone(config.learning)
  for (const { what } of trail)
    if (what.startsWith('learning.')) {
      const path = what.split('.').slice(1)
      const now = valueAt(learning, path)
      setAt(learning, path, settingAt(trail, { key: what, version, now }))
    }
  const { groupsPerUpdate } = config.rollout
  return {
    learning: learning as UpdateRules['learning'],
    groupsPerUpdate: settingAt(trail, { key: 'rollout.groupsPerUpdate', version, now: groupsPerUpdate }),
  }
}

function valueAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce((part, key) => (isTree(part) ? part[key] : undefined), tree)
}

function setAt(tree: unknown, path: readonly string[], value: unknown): void {
  const [last = ''] = path.slice(-1)
  const owner = valueAt(tree, path.slice(0, -1))
  if (isTree(owner)) owner[last] = value
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

interface KeptBatch extends UpdateBatch {
  readonly figures: TokenFigures | undefined
}

/** Undefined where it is not kept, is too large to be read for a page, or is no batch. */
async function batchAt(file: string, tokenFile: string): Promise<KeptBatch | undefined> {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined || size > largestBatchFile) return undefined
  const batch = await readUpdateBatch(file).catch(() => undefined)
  if (batch === undefined) return undefined
  const figures = await readTokenFigures(tokenFile, batch.tokens.length).catch(() => undefined)
  return { ...batch, figures }
}

/** The n-th episode of a batch. */
function foundIn(
  batch: KeptBatch,
  place: number,
): Omit<NonNullable<LearntEpisode['batch']>, 'file'> | undefined {
  const [begin, end] = [batch.offsets[place], batch.offsets[place + 1]]
  if (begin === undefined || end === undefined) return undefined
  return {
    begin,
    tokens: batch.tokens.subarray(begin, end),
    advantages: batch.advantages.subarray(begin, end),
    weights: batch.weights?.subarray(begin, end),
    figures: batch.figures && {
      logRatios: batch.figures.logRatios.subarray(begin, end),
      entropies: batch.figures.entropies.subarray(begin, end),
    },
  }
}
