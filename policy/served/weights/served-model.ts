/**
 * The model of a version that is served, as far as it is known here: from a checkpoint of a run, or from a model's folder as its publisher gives it.
 *
 * Invariants
 * - Nothing is written into the folder.
 * - Weights too large to be computed here are not read; what is known says so.
 * - Weights too large for that are not read.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readText } from '../../../machine/files/text-file.ts'
import { parseArchitecture, withTokenless } from '../../checkpoints/architecture-config.ts'
import { publishCheckpoint, readArchitecture, weightBytes } from '../../checkpoints/checkpoint.ts'
import { manifestFile } from '../../checkpoints/manifest.ts'
import { readPretrained } from '../../checkpoints/pretrained.ts'
import type { IdRange } from '../../tokenizer/tokenless-ids.ts'
import { elementCount, weightSpecs } from '../../transformer/architecture.ts'
import type { Score } from '../canary.ts'
import type { ServedAdapter, ServedWhole } from '../server-protocol.ts'
import { adapterIn } from './served-adapters.ts'
import { wholeIn } from './served-weights.ts'

/** The model of a version that is served. */
export interface ServedModel {
  /** Token ids are below it. */
  readonly vocabulary: number
  /** Ids below it that no token has. */
  readonly tokenless?: readonly IdRange[] | undefined
  /** The logprobs of its own weights; undefined where they are not computed here. */
  readonly score: Score | undefined
  /** Why they are not, where that is known. */
  readonly unscored?: string | undefined
  /** Absent where it is a whole model. */
  readonly adapter?: ServedAdapter | undefined
  /** Absent where it is an adapter, or no checkpoint of a run. */
  readonly whole?: ServedWhole | undefined
}

/** @param version `RUN@7` @throws CheckpointFault */
export async function modelIn(dir: string, version: string): Promise<ServedModel> {
  if (!existsSync(join(dir, manifestFile)) && existsSync(join(dir, 'config.json')))
    return await publishedModel(dir)
  const { vocab_size: vocabulary, tokenless } = await readArchitecture(dir)
  const score = await weightScore(dir)
  const unscored = score === undefined ? tooLarge(await weightBytes(dir)) : undefined
  return {
    ...{ vocabulary, tokenless, score, unscored },
    adapter: await adapterIn(dir, version),
    whole: await wholeIn(dir, version),
  }
}

async function publishedModel(dir: string): Promise<ServedModel> {
  const [file, tokenizerFile] = [join(dir, 'config.json'), join(dir, 'tokenizer.json')]
  // That a model lacks its tokenizer is said where its chat is opened.
  const tokenizer = existsSync(tokenizerFile) ? await readText(tokenizerFile) : ''
  const architecture = withTokenless(parseArchitecture(await readText(file), file), tokenizer)
  const elements = weightSpecs(architecture).reduce((sum, { shape }) => sum + elementCount(shape), 0)
  const { vocab_size: vocabulary, tokenless } = architecture
  const bytes = 4 * elements
  if (bytes > mostBytes) return { vocabulary, tokenless, score: undefined, unscored: tooLarge(bytes) }
  return { vocabulary, tokenless, score: scoreOfPublished(dir) }
}

/** The trainer holds all of a model's weights at once. */
function tooLarge(bytes: number): string {
  const inGiB = (count: number) => (count / 2 ** 30).toPrecision(2)
  return `they take ${inGiB(bytes)} GiB in F32, and at most ${inGiB(mostBytes)} GiB are computed here; that it serves this model is not checked`
}

/** The trainer reads checkpoints, so the weights become one for the moment. */
function scoreOfPublished(dir: string): Score {
  return async (context, tokens) => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-score-'))
    try {
      const { architecture, weights, tokenizer } = await readPretrained(dir)
      const state = { version: 0, step: 0, chat: 'hermes', facts: {} } as const
      const checkpointDir = join(folder, '0')
      await publishCheckpoint(checkpointDir, { architecture, weights, tokenizer, state })
      const score = await weightScore(checkpointDir)
      if (score === undefined) throw new RangeError(`${dir} has more weights than are computed here`)
      return await score(context, tokens)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Weights, and as much again for the runtime, fit into the memory of any machine that trains. */
export const mostBytes = 4 * 2 ** 30

/**
 * Scores by the weights of a checkpoint; undefined where they are too large.
 * @throws CheckpointFault
 */
export async function weightScore(checkpointDir: string): Promise<Score | undefined> {
  if ((await weightBytes(checkpointDir)) > mostBytes) return undefined
  return async (context, tokens) => {
    // Loaded here alone, and for a moment: the trainer's thread ends with its answer.
    const { createTrainer } = await import('../../trainer/embedded.ts')
    const trainer = createTrainer({ threads: 1 })
    const whole = Int32Array.from([...context, ...tokens])
    try {
      const all = await trainer.logprobs({
        checkpointDir,
        tokens: whole,
        offsets: Int32Array.of(0, whole.length),
        lossMask: Uint8Array.from(whole, (_, at) => (at < context.length ? 0 : 1)),
        temperature: 1,
        microBatchTokens: 1024,
      })
      return all.slice(context.length)
    } finally {
      await trainer.close()
    }
  }
}
