/**
 * The learning signal of an update for each of its episodes, read from the record that the update left, with the figures of its
 * tokens where the trainer's file of them is kept.
 *
 * Invariants
 * - [LEARNT-1] Each number is the one that the trainer read: none is computed again from rewards.
 * - [LEARNT-2] An update without a record is shown as not kept, unless it had nothing to learn from.
 * - The signals of the last few updates stay in memory: a page asks for many episodes of one update.
 */
import { statSync } from 'node:fs'
import type { EpisodeId, RunId } from '../identity/identity.ts'
import { readTokenFigures, type TokenFigures } from '../policy/trainer/update/token-figures.ts'
import type { Home } from '../storage/disk/home.ts'
import type { StoredUpdate } from '../storage/records/updates.ts'
import type { Store } from '../storage/store.ts'
import type { LearntEpisode } from '../storage/trajectories/learnt-episode.ts'

const keptUpdates = 4

/** Where runs have learnt. */
export interface LearningHome {
  readonly home: Home
  readonly store: Store
  /** Bytes of a file of token figures that is read at most: a larger one would delay the page noticeably. */
  readonly largestTokenFile?: number
}

/** An episode of a batch. */
export interface ShownLesson extends LearntEpisode {
  /** The batch file, whether or not it is still kept. */
  readonly file: string
  /** Place of the episode's first token in it. */
  readonly begin: number
  /** The mean of its turns, or of their tokens. */
  readonly advantage: number
  /** [time] figures of its tokens; absent where the trainer wrote none, or they are not kept. */
  readonly figures: TokenFigures | undefined
}

export interface LearntUpdate {
  readonly step: number
  /** The version that it published. */
  readonly version: number
  /** False where the update left no record, so that `episodes` is empty. */
  readonly isKept: boolean
  /** The episodes that the update learnt from. */
  readonly episodes: ReadonlyMap<EpisodeId, ShownLesson>
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
  { home, store, largestTokenFile = Number.POSITIVE_INFINITY }: LearningHome,
  run: RunId,
  step: number,
): Promise<LearntUpdate | undefined> {
  const update = await store.updates.get(run, step)
  if (update === undefined) return undefined
  const { version } = update
  const record = await store.updates.learnt(run, step)
  const episodes = new Map<EpisodeId, ShownLesson>()
  if (record === undefined) return { step, version, isKept: hadNothingToLearn(update), episodes }
  const directory = home.run(run)
  const file = directory.batchFile(step)
  const total = record.reduce((sum, { tokens }) => sum + tokens, 0)
  const figures = await figuresAt(directory.tokenFile(step), { total, largest: largestTokenFile })
  let begin = 0
  for (const lesson of record) {
    const end = begin + lesson.tokens
    const own = figures && {
      logRatios: figures.logRatios.subarray(begin, end),
      entropies: figures.entropies.subarray(begin, end),
    }
    const { episode, advantages } = lesson
    const each = advantages.flat()
    const advantage = each.reduce((sum, one) => sum + one, 0) / Math.max(1, each.length)
    episodes.set(episode, { ...lesson, file, begin, advantage, figures: own })
    begin = end
  }
  return { step, version, isKept: true, episodes }
}

/** Whether an update without a record had no batch either. */
function hadNothingToLearn({ statistics }: StoredUpdate): boolean {
  return statistics.groupsWithPreference === 0 && statistics.gradientNorm === 0
}

/** Undefined where there are none, or more than are read. */
async function figuresAt(
  file: string,
  { total, largest }: { readonly total: number; readonly largest: number },
): Promise<TokenFigures | undefined> {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined || size > largest) return undefined
  return await readTokenFigures(file, total).catch(() => undefined)
}

/** The lesson of an episode in an update; undefined where the update has learnt nothing from it. */
export async function lessonFrom(
  learntGroups: LearntGroups,
  { run, id }: { readonly run: RunId; readonly id: EpisodeId },
  step: number,
): Promise<ShownLesson | 'not kept' | undefined> {
  const update = await learntGroups.update(run, step)
  return update?.isKept === false ? 'not kept' : update?.episodes.get(id)
}
