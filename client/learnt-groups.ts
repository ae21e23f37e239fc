/**
 * The learning signal of an update for each of its groups, read from its batch file.
 *
 * Only the file knows: the rules of an update applied to the stored rewards again give other numbers than the trainer read, e.g.
 * where groups were replayed. Where the file is no longer kept, what was learnt is not known.
 *
 * Invariants
 * - [LEARNT-1] An advantage is the one that the trainer read, for the very tokens of the episode.
 * - [LEARNT-2] Without its batch file what an update learnt is not kept, unless it had nothing to learn from.
 * - What was read is kept for the last few updates that were asked about: a page asks for many episodes of one.
 */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import type { EpisodeId, GroupId, RunId } from '../identity/identity.ts'
import { hasPreference } from '../learning/advantage.ts'
import type { UpdateBatch } from '../policy/trainer/batch.ts'
import { readUpdateBatch } from '../policy/trainer/batch-file.ts'
import { readTokenFigures, type TokenFigures } from '../policy/trainer/token-figures.ts'
import type { Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import type { StoredUpdate } from '../storage/updates.ts'
import { type BatchCandidate, rowsOfEpisodes } from './batch-rows.ts'

const keptUpdates = 4

/** Where runs have learnt. */
export interface LearningHome {
  readonly home: Home
  readonly store: Store
  /** Bytes of a batch file that is read at most: a larger one would delay the page noticeably. */
  readonly largestBatchFile?: number
}

/** An episode in the batch file of its update. [time] each. */
export interface LearntEpisode {
  readonly file: string
  /** Place of its first token. */
  readonly begin: number
  readonly tokens: Int32Array
  readonly advantages: Float32Array
  /** Weight of each action token in the loss; absent when all count alike. */
  readonly weights: Float32Array | undefined
  /** Figures of each token, where the trainer wrote them. */
  readonly figures: TokenFigures | undefined
}

export interface LearntUpdate {
  readonly step: number
  /** The version that it published. */
  readonly version: number
  /** False: there is no batch file, or one that is too large, so that `episodes` is empty. */
  readonly isKept: boolean
  /** The episodes that the update learnt from. */
  readonly episodes: ReadonlyMap<EpisodeId, LearntEpisode>
}

export interface LearntGroups {
  /** Undefined where the run has no such update. */
  update(run: RunId, step: number): Promise<LearntUpdate | undefined>
}

export function createLearntGroups(shown: LearningHome): LearntGroups {
  const kept = new Map<string, Promise<LearntUpdate | undefined>>()
  return {
    update(run, step) {
      const key = `${run} ${step}`
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

async function learntUpdate(
  shown: LearningHome,
  run: RunId,
  step: number,
): Promise<LearntUpdate | undefined> {
  const { home, store } = shown
  const update = await store.updates.get(run, step)
  if (update === undefined) return undefined
  const { version } = update
  const directory = home.run(run)
  const file = directory.batchFile(step)
  const batch = await batchAt(shown, file, directory.tokenFile(step))
  const episodes = new Map<EpisodeId, LearntEpisode>()
  if (batch === undefined) return { step, version, isKept: hadNothingToLearn(update), episodes }
  const candidates: (BatchCandidate & { readonly episode: EpisodeId })[] = []
  for (const id of update.groups) candidates.push(...(await candidatesIn(store, id)))
  const rows = rowsIn(batch)
  const found = rowsOfEpisodes(
    candidates,
    rows.map(({ tokens }) => digestOf([tokens])),
  )
  for (const [index, { episode }] of candidates.entries()) {
    const row = rows[found[index] ?? rows.length]
    if (row !== undefined) episodes.set(episode, { file, ...row })
  }
  return { step, version, isKept: true, episodes }
}

/** Such an update has no batch. */
function hadNothingToLearn({ statistics }: StoredUpdate): boolean {
  return statistics.groupsWithPreference === 0 && statistics.gradientNorm === 0
}

/** The episodes of a group, in the order in which a batch has them. */
async function candidatesIn({ groups, actions }: Store, id: GroupId) {
  const { episodes = [], rewards = [] } = (await groups.get(id))?.result ?? {}
  return Promise.all(
    episodes.map(async (episode) => {
      const turns = await actions.list(episode)
      const tokens = digestOf(turns.flatMap(({ prompt, tokens: sampled }) => [prompt, sampled]))
      return { episode, tokens, hasPreference: hasPreference(rewards) }
    }),
  )
}

function digestOf(parts: readonly Int32Array[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64')
}

interface KeptBatch extends UpdateBatch {
  readonly figures: TokenFigures | undefined
}

/** Undefined where it is not kept, is too large, or is no batch. */
async function batchAt(
  { largestBatchFile = Number.POSITIVE_INFINITY }: LearningHome,
  file: string,
  tokenFile: string,
): Promise<KeptBatch | undefined> {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined || size > largestBatchFile) return undefined
  const batch = await readUpdateBatch(file).catch(() => undefined)
  if (batch === undefined) return undefined
  const figures = await readTokenFigures(tokenFile, batch.tokens.length).catch(() => undefined)
  return { ...batch, figures }
}

/** The rows of which the policy sampled a token that counts. */
function rowsIn({ offsets, lossMask, ...batch }: KeptBatch): readonly Omit<LearntEpisode, 'file'>[] {
  return Array.from(offsets.subarray(1), (end, row) => [offsets[row] ?? 0, end] as const)
    .filter(([begin, end]) => lossMask.subarray(begin, end).includes(1))
    .map(([begin, end]) => ({
      begin,
      tokens: batch.tokens.subarray(begin, end),
      advantages: batch.advantages.subarray(begin, end),
      weights: batch.weights?.subarray(begin, end),
      figures: batch.figures && {
        logRatios: batch.figures.logRatios.subarray(begin, end),
        entropies: batch.figures.entropies.subarray(begin, end),
      },
    }))
}

/** [time] the advantages of an episode in an update; undefined where the update has learnt nothing from it. */
export async function learntAdvantages(
  learntGroups: LearntGroups,
  { run, id }: { readonly run: RunId; readonly id: EpisodeId },
  step: number,
): Promise<Float32Array | 'not kept' | undefined> {
  const update = await learntGroups.update(run, step)
  return update?.isKept === false ? 'not kept' : update?.episodes.get(id)?.advantages
}
