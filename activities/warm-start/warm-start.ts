/**
 * The warm start: a policy's first weights, and its supervised training on demonstrations in durable parts.
 *
 * Invariants
 * - Each part reads one checkpoint and writes the next; doing it twice gives the same.
 * - The last part makes version 0; without demonstrations the first weights are version 0. Where adapters are trained, these weights
 *   are their base, and version 0 is the first adapter.
 * - [WARM-START-1] A warm start that was made before from the same inputs is found in the user's cache: version 0 has the same
 *   bytes, and no part of it is done again.
 * - [WARM-START-2] The warm start imitates as many demonstrations as are asked for, also where the tokenizer is made from more; in the
 *   last parts, corrections may take the place of demonstrations.
 * - [WARM-KEY-1] Data, environments, experts, tokenizer and first weights count by their results: the demonstrations' tokens and the
 *   first checkpoint. The name of the run and its home do not count.
 * - [WARM-KEY-2] Corrections are played after the first parts, so they count by their inputs: the settings of the episodes, and
 *   the code of policy, expert and environments.
 * - [WARM-KEY-3] An environment that is not Perdure's own counts by its module with its imports, its program and its data.
 * - The trainer counts by its code, its settings, its number of threads, and the processor that rounds for it.
 */

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { environmentDigest } from '../../envs/external/environment-sources.ts'
import { environments } from '../../envs/registry.ts'
import { seedOfWork } from '../../identity/identity.ts'
import { openChat } from '../../policy/chat/chat.ts'
import type { CheckpointCache } from '../../policy/checkpoints/checkpoint-cache.ts'
import { manifestFile } from '../../policy/checkpoints/manifest.ts'
import { digestFile } from '../../policy/files/durable-file.ts'
import { readUpdateBatch, writeUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { codeOf, trainerCode } from '../../policy/trainer/foreign/trainer-code.ts'
import { initializeAdapter } from '../../policy/trainer/initial-checkpoint.ts'
import type { Trainer, WarmStartRequest } from '../../policy/trainer/trainer.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { collectCorrections, correctedAtOnce } from './corrections.ts'
import { collectDemonstrations, demonstrationBatch, placesOf } from './demonstrations.ts'
import { firstCheckpoint } from './first-checkpoint.ts'
import { createLeftOut } from './left-out.ts'

/** Episodes whose texts make a tokenizer where fewer are imitated. */
const tokenizerDemonstrations = 64

/** Share of the warm start over which the learning rate rises. */
const warmUpShare = 0.05

type Progress = (done: number, total: number) => void

/** The request of each part of a warm start, without the part. */
export type WarmStartSettings = Omit<
  WarmStartRequest,
  'demonstrationsFile' | 'fromCheckpointDir' | 'toCheckpointDir' | 'firstStep' | 'steps'
>

/**
 * Tokenizer, first weights and demonstrations of a run.
 * @param log receives the ways in which a given model's chat template differs, and the instances that are left out
 */
export async function prepareWarmStart(
  opened: OpenRun,
  onProgress: Progress,
  signal: AbortSignal,
  log: (line: string) => void = () => undefined,
): Promise<void> {
  const { config, directory } = opened
  const { demonstrations } = config.warmStart
  const plain = firstPlaceOf(config, firstCorrected(config))
  const total = Math.max(plain, config.policy.from === undefined ? tokenizerDemonstrations : 0)
  const leftOut = createLeftOut('demonstrations', log)
  const onDone = (done: number) => onProgress(done, total)
  const episodes = await collectDemonstrations(opened, total, onDone, signal, leftOut)
  if (episodes.length < total && leftOut.count > 0)
    log(`${episodes.length} of ${total} demonstrations, because ${leftOut.count} instances failed`)
  const first = firstDir(opened)
  await firstCheckpoint(first, config, episodes, log)
  if (demonstrations === 0) {
    await firstVersion(opened)
    return
  }
  // Further demonstrations are for the tokenizer alone.
  const imitated = episodes.slice(0, plain)
  const batch = demonstrationBatch(imitated, await openChat(first), config)
  await writeUpdateBatch(directory.demonstrationsFile, batch)
}

/** Trainer, cache and reports of a part of the supervised training. */
export interface ImitationTools {
  readonly trainerOf: (settings: RunConfig['policy']) => Trainer
  /** Where warm starts are kept; undefined: each is made. */
  readonly cache?: CheckpointCache | undefined
  readonly onProgress: Progress
  /** Reports demonstrations that are collected again. */
  readonly onDemonstration?: Progress
  /** Reports the episodes in which the policy is corrected. */
  readonly onCorrection: Progress
  /** Ends them. */
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/** The way in which version 0 was made, where it exists. */
export interface Imitation {
  /** True when the whole warm start was found, and no other part is needed. */
  readonly found: boolean
}

/** One part of the supervised training, unless the whole of it is found. */
export async function imitate(opened: OpenRun, chunk: number, tools: ImitationTools): Promise<Imitation> {
  const imitation = await imitatePart(opened, chunk, tools)
  await firstVersion(opened)
  return imitation
}

async function imitatePart(opened: OpenRun, chunk: number, tools: ImitationTools): Promise<Imitation> {
  const { config, directory } = opened
  const { log } = tools
  // A trainer command and a program's own environment have code that no key covers: their warm starts are not shared.
  const isKeyed = config.policy.trainer === 'embedded' && (await areEnvironmentsKnown(opened))
  const cache = isKeyed ? tools.cache : undefined
  const { chunks } = config.warmStart
  const target = warmStartedDir(opened)
  const isLast = chunk + 1 === chunks
  if (chunk > 0 && !isLast && existsSync(join(target, manifestFile))) return { found: true }
  // A person may have removed the file; the demonstrations are collected again as they were.
  if (!existsSync(directory.demonstrationsFile))
    await prepareWarmStart(opened, tools.onDemonstration ?? (() => undefined), tools.signal, log)
  const settings = await settingsOf(opened)
  const key = cache === undefined || (chunk > 0 && !isLast) ? '' : await keyOf(opened, settings)
  if (chunk === 0 && cache !== undefined && (await cache.take(key, target))) {
    log(
      `the warm start of ${opened.run} was made before and is taken from the cache (--no-cache makes it again)`,
    )
    return { found: true }
  }
  const firstStep = Math.floor((settings.totalSteps * chunk) / chunks)
  const fromCheckpointDir = chunk === 0 ? firstDir(opened) : warmDir(opened, chunk)
  const isCorrected = chunk >= firstCorrected(config)
  const request = {
    ...settings,
    ...(isCorrected
      ? {
          demonstrationsFile: await correctionsFile(opened, chunk, fromCheckpointDir, tools),
          planStart: firstStep,
        }
      : { demonstrationsFile: directory.demonstrationsFile }),
    fromCheckpointDir,
    toCheckpointDir: isLast ? target : warmDir(opened, chunk + 1),
    firstStep,
    steps: Math.floor((settings.totalSteps * (chunk + 1)) / chunks) - firstStep,
  }
  await tools.trainerOf(config.policy).warmStart(request, tools.onProgress, tools.signal)
  if (isLast) await cache?.keep(key, target)
  return { found: false }
}

async function settingsOf(opened: OpenRun): Promise<WarmStartSettings> {
  const { run, config, directory } = opened
  const { chunks, batchTokens, epochs, learningRate, observationWeight } = config.warmStart
  const { tokens } = await readUpdateBatch(directory.demonstrationsFile)
  // Parts with corrections take as many steps as those without.
  const allTokens = (tokens.length * chunks) / firstCorrected(config)
  const totalSteps = Math.max(chunks, Math.ceil((allTokens * epochs) / batchTokens))
  return {
    version: 0,
    totalSteps,
    batchTokens,
    observationWeight,
    warmUpSteps: Math.ceil(totalSteps * warmUpShare),
    optimizer: { ...adamwOf(config), learningRate },
    microBatchTokens: config.learning.microBatchTokens,
    seed: seedOfWork(config.seed, run, 'warm start'),
  }
}

/** The first part in which the policy is corrected; the number of parts where there is none. */
function firstCorrected({ warmStart: { chunks, corrections } }: RunConfig): number {
  return chunks - corrections
}

/** Demonstrations of all parts before that one. */
function firstPlaceOf({ warmStart: { demonstrations, chunks } }: RunConfig, chunk: number): number {
  return Math.floor((demonstrations * chunk) / chunks)
}

/** Plays the episodes of a part in which the policy that it begins from is corrected. @returns their file */
async function correctionsFile(
  opened: OpenRun,
  chunk: number,
  checkpointDir: string,
  { onCorrection, signal, log }: Pick<ImitationTools, 'onCorrection' | 'signal' | 'log'>,
): Promise<string> {
  const { config, directory } = opened
  const file = directory.correctionsFile(chunk)
  if (existsSync(file)) return file
  const [from, to] = [firstPlaceOf(config, chunk), firstPlaceOf(config, chunk + 1)]
  const chat = await openChat(checkpointDir)
  const { threads, contextLength } = config.policy
  const { createEmbeddedEngine } = await import('../../policy/embedded-engine/embedded.ts')
  const engine = await createEmbeddedEngine({ threads, contextLength, maxBatch: correctedAtOnce })
  try {
    await engine.load(0, checkpointDir)
    const places = (await placesOf(opened, to)).slice(from)
    const onProgress = (done: number) => onCorrection(done, places.length)
    const episodes = await collectCorrections(
      opened,
      places,
      { engine, version: 0, chat },
      onProgress,
      signal,
      createLeftOut('corrections', log),
    )
    await writeUpdateBatch(file, demonstrationBatch(episodes, chat, config))
  } finally {
    await engine.close()
  }
  return file
}

/** True when the sources of the environments of corrections can be part of a key. */
async function areEnvironmentsKnown({ config, task }: OpenRun): Promise<boolean> {
  if (config.warmStart.corrections === 0) return true
  for (const [index, { from }] of config.tasks.entries())
    if (from === undefined && !environments.includes((await task(index)).definition)) return false
  return true
}

async function keyOf(opened: OpenRun, settings: WarmStartSettings): Promise<string> {
  const { config, directory, task } = opened
  const isCorrected = config.warmStart.corrections > 0
  const played = isCorrected ? await Promise.all(config.tasks.map((_, index) => task(index))) : []
  return warmStartKey({
    environments: played.map(({ definition }) => definition),
    settings,
    firstDir: firstDir(opened),
    demonstrationsFile: directory.demonstrationsFile,
    chunks: config.warmStart.chunks,
    threads: config.policy.threads,
    corrected: isCorrected ? config : undefined,
  })
}

/** Folder of the policy after the warm start: version 0, or the base of the adapters. */
function warmStartedDir({ config, directory }: OpenRun): string {
  return config.policy.lora === undefined ? directory.checkpointDir(0) : directory.baseDir
}

/** Version 0 of a policy that is trained as an adapter, once its base is there. */
async function firstVersion({ run, config, directory }: OpenRun): Promise<void> {
  const { lora } = config.policy
  const { baseDir } = directory
  if (lora === undefined || !existsSync(join(baseDir, manifestFile))) return
  const seed = seedOfWork(config.seed, run, 'adapter')
  await initializeAdapter(directory.checkpointDir(0), { baseDir, shape: lora, seed })
}

/** Folder of the policy before the warm start; without one it is the folder afterwards. */
function firstDir(opened: OpenRun): string {
  const { config, directory } = opened
  return config.warmStart.demonstrations === 0
    ? warmStartedDir(opened)
    : join(directory.checkpointsDir, 'warm-0')
}

function warmDir({ directory }: OpenRun, chunk: number): string {
  return join(directory.checkpointsDir, `warm-${chunk}`)
}

function adamwOf({ learning: { beta1, beta2, epsilon, weightDecay, gradientClip } }: RunConfig) {
  return { beta1, beta2, epsilon, weightDecay, gradientClip }
}

interface WarmStartSources {
  readonly firstDir: string
  readonly demonstrationsFile: string
  readonly settings: WarmStartSettings
  /** Each part ends with a checkpoint that says how it went. */
  readonly chunks: number
  readonly threads: number
  /** Settings of a warm start that corrects the policy; undefined: it does not. */
  readonly corrected?: Pick<RunConfig, 'seed' | 'tasks' | 'rollout' | 'policy' | 'warmStart'> | undefined
  /** [tasks] The environment of each task; read where the policy is corrected. */
  readonly environments?: readonly Pick<EnvironmentDefinition, 'sources'>[]
}

export async function warmStartKey(sources: WarmStartSources): Promise<string> {
  const { firstDir, demonstrationsFile, settings, chunks, threads, corrected, environments } = sources
  const parts = {
    trainer: await trainerCode(),
    ...(corrected && { corrected: await correctionsOf(corrected, environments) }),
    first: (await digestFile(join(firstDir, manifestFile))).sha256,
    demonstrations: (await digestFile(demonstrationsFile)).sha256,
    settings,
    chunks,
    threads,
  }
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

async function correctionsOf(
  {
    seed,
    tasks,
    rollout: { maxTokensPerTurn },
    policy: { contextLength },
    warmStart: { demonstrations, corrections },
  }: NonNullable<WarmStartSources['corrected']>,
  environments: WarmStartSources['environments'] = [],
) {
  const played = { seed, tasks, maxTokensPerTurn, contextLength, demonstrations, corrections }
  const sources = await Promise.all(
    tasks.map(({ from, data }, index) =>
      environmentDigest({ from, data, definition: environments[index] ?? {} }),
    ),
  )
  return { ...played, sources, code: await codeOf(['activities', 'envs', 'messages', 'worlds']) }
}
