/**
 * The warm start: a policy's first weights, and its supervised training on demonstrations in durable parts.
 *
 * Invariants
 * - Each part reads one checkpoint and writes the next; doing it twice gives the same.
 * - The last part makes version 0; without demonstrations the first weights are version 0.
 */
import { join } from 'node:path'
import type { RunConfig } from '../config/schema.ts'
import { seedOfWork } from '../identity/identity.ts'
import { openChat } from '../policy/chat/chat.ts'
import { readUpdateBatch, writeUpdateBatch } from '../policy/trainer/batch-file.ts'
import type { Trainer } from '../policy/trainer/trainer.ts'
import { collectDemonstrations, demonstrationBatch } from './demonstrations.ts'
import { firstCheckpoint } from './first-checkpoint.ts'
import type { OpenRun } from './open-runs.ts'

/** Episodes whose texts make a tokenizer where none are asked for to imitate. */
const tokenizerDemonstrations = 64

/** Share of the warm start over which the learning rate rises. */
const warmUpShare = 0.05

type Progress = (done: number, total: number) => void

/** Tokenizer, first weights and demonstrations of a run. */
export async function prepareWarmStart(
  opened: OpenRun,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { config, directory } = opened
  const { demonstrations } = config.warmStart
  const total = Math.max(demonstrations, config.policy.from === undefined ? tokenizerDemonstrations : 0)
  const episodes = await collectDemonstrations(opened, total, (done) => onProgress(done, total), signal)
  const first = firstDir(opened)
  await firstCheckpoint(first, config, episodes)
  if (demonstrations === 0) return
  const batch = demonstrationBatch(episodes, await openChat(first), config.policy)
  await writeUpdateBatch(demonstrationsFile(directory.batchesDir), batch)
}

/** One part of the supervised training. */
export async function imitate(
  opened: OpenRun,
  chunk: number,
  trainerOf: (threads: number) => Trainer,
  onProgress: Progress,
): Promise<void> {
  const { run, config, directory } = opened
  const { chunks, batchTokens, epochs, learningRate, observationWeight } = config.warmStart
  const file = demonstrationsFile(directory.batchesDir)
  const { tokens } = await readUpdateBatch(file)
  const totalSteps = Math.max(chunks, Math.ceil((tokens.length * epochs) / batchTokens))
  const firstStep = Math.floor((totalSteps * chunk) / chunks)
  await trainerOf(config.policy.threads).warmStart(
    {
      demonstrationsFile: file,
      fromCheckpointDir: chunk === 0 ? firstDir(opened) : warmDir(opened, chunk),
      toCheckpointDir: chunk + 1 === chunks ? directory.checkpointDir(0) : warmDir(opened, chunk + 1),
      version: 0,
      firstStep,
      steps: Math.floor((totalSteps * (chunk + 1)) / chunks) - firstStep,
      totalSteps,
      batchTokens,
      observationWeight,
      warmUpSteps: Math.ceil(totalSteps * warmUpShare),
      optimizer: { ...adamwOf(config), learningRate },
      microBatchTokens: config.learning.microBatchTokens,
      seed: seedOfWork(config.seed, run, 'warm start'),
    },
    onProgress,
  )
}

/** Where the policy stands before the warm start; without one it is version 0 at once. */
function firstDir({ config, directory }: OpenRun): string {
  return config.warmStart.demonstrations === 0
    ? directory.checkpointDir(0)
    : join(directory.checkpointsDir, 'warm-0')
}

function warmDir({ directory }: OpenRun, chunk: number): string {
  return join(directory.checkpointsDir, `warm-${chunk}`)
}

function demonstrationsFile(batchesDir: string): string {
  return join(batchesDir, 'demonstrations.safetensors')
}

function adamwOf({ learning: { beta1, beta2, epsilon, weightDecay, gradientClip } }: RunConfig) {
  return { beta1, beta2, epsilon, weightDecay, gradientClip }
}
