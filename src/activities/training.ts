/**
 * Training activities: preparing the policy, imitating demonstrations, updating by reward.
 *
 * Invariants
 * - Each result lies under the identity of its work: doing it twice gives the same, or finds it there.
 * - An update reads one batch file and one checkpoint and writes the next checkpoint, whole or not at all.
 * - The first attempt of an update decides which groups it consumes.
 * - A checkpoint that is broken is never trained on: the newest good one before it is.
 */
import { join } from 'node:path'
import { Context } from '@temporalio/activity'
import type { RunConfig } from '../config/schema.ts'
import { type GroupId, type RunId, seedOfWork } from '../identity.ts'
import { learningRateAt } from '../learning/learning-rate.ts'
import type { LearningSignal } from '../learning/learning-signal.ts'
import { staleness, stalenessStatistics } from '../learning/staleness.ts'
import { openChat } from '../policy/chat/checkpoint-chat.ts'
import { CheckpointFault } from '../policy/checkpoints/checkpoint-fault.ts'
import { latestGoodCheckpoint } from '../policy/checkpoints/versions.ts'
import { readUpdateBatch, writeUpdateBatch } from '../policy/trainer/batch-file.ts'
import type { Trainer } from '../policy/trainer/trainer.ts'
import { createRunDirectory, type Home } from '../storage/home.ts'
import type { Store } from '../storage/store.ts'
import type { StoredUpdate } from '../storage/updates.ts'
import type { LearningChange } from '../workflows/messages.ts'
import { collectDemonstrations, demonstrationBatch } from './demonstrations.ts'
import { failing } from './failure.ts'
import { firstCheckpoint } from './first-checkpoint.ts'
import { tellProgress } from './heartbeat.ts'
import type { OpenRun, OpenRuns } from './open-runs.ts'
import { collectBatch } from './update-batch.ts'
import type { UpdateFigures } from './update-metrics.ts'

export interface UpdateRequest {
  readonly run: RunId
  /** From 1. */
  readonly step: number
  /** Current version, before the update. */
  readonly version: number
  /** Consumed groups with the version at which each was admitted. */
  readonly groups: readonly { readonly group: GroupId; readonly version: number }[]
  readonly learning: LearningChange
  readonly waitedSeconds: number
}

export interface UpdateResult {
  /** The version to publish; the current one where there was nothing to learn from. */
  readonly version: number
  readonly success: Readonly<Record<string, number>>
  /** Episodes per task. */
  readonly samples: Readonly<Record<string, number>>
  readonly reward: Readonly<Record<string, number>>
  readonly staleness: number
  /** What there was to learn from; absent where an older version made the update. */
  readonly signal?: LearningSignal
  /** The groups that it consumed. */
  readonly groups: readonly GroupId[]
}

/** What a heartbeat tells of a training activity. */
export type TrainingPhase =
  | { readonly phase: 'demonstrations'; readonly done: number; readonly total: number }
  | { readonly phase: 'imitation'; readonly done: number; readonly total: number }
  | { readonly phase: 'update'; readonly done: number; readonly total: number }

/** Episodes whose texts make a tokenizer where none are asked for to imitate. */
const tokenizerDemonstrations = 64

/** Share of the warm start over which the learning rate rises. */
const warmUpShare = 0.05

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly runs: OpenRuns
  /** The trainer whose steps take so many threads. */
  readonly trainerOf: (threads: number) => Trainer
  readonly log: (line: string) => void
}

export type TrainingActivities = ReturnType<typeof createTrainingActivities>

export function createTrainingActivities({ home, store, runs, trainerOf, log }: Dependencies) {
  return failing({
    /** Tokenizer, first weights and demonstrations of a run. */
    async preparePolicy({ run }: { readonly run: RunId }): Promise<void> {
      const opened = await runs.get(run)
      const directory = createRunDirectory(home, run)
      const { config } = opened
      const total = Math.max(
        config.warmStart.demonstrations,
        config.policy.from === undefined ? tokenizerDemonstrations : 0,
      )
      const episodes = await collectDemonstrations(
        opened,
        total,
        (done) => heartbeat({ phase: 'demonstrations', done, total }),
        Context.current().cancellationSignal,
      )
      const first = firstDir(opened)
      await firstCheckpoint(first, config, episodes)
      if (config.warmStart.demonstrations === 0) return
      const batch = demonstrationBatch(episodes, await openChat(first), config.policy)
      await writeUpdateBatch(demonstrationsFile(directory.batchesDir), batch)
    },

    /** One part of the supervised warm start; the last one makes version 0. */
    async imitateDemonstrations({
      run,
      chunk,
    }: {
      readonly run: RunId
      readonly chunk: number
    }): Promise<void> {
      const opened = await runs.get(run)
      const { config, directory } = opened
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
        (done, total) => heartbeat({ phase: 'imitation', done, total }),
      )
    },

    /** One update by the policy objective. */
    async updatePolicy(request: UpdateRequest): Promise<UpdateResult> {
      const { run, step } = request
      const before = await store.updates.get(run, step)
      if (before !== undefined) return resultAt(before, request.version)
      const { config, directory } = await runs.get(run)
      const decided = await store.groups.list(run, { consumedBy: step })
      const groups =
        decided.length === 0 ? request.groups : decided.map(({ id, version }) => ({ group: id, version }))
      const ids = groups.map(({ group }) => group)
      await store.groups.consume(ids, step)
      const { batch, figures } = await collectBatch(store, ids, config.learning)
      const since = performance.now()
      const base = await goodCheckpoint(directory.checkpointsDir, request.version)
      const version = batch === null ? request.version : request.version + 1
      const batchFile = directory.batchFile(step)
      if (batch !== null) await writeUpdateBatch(batchFile, batch)
      const trained =
        batch === null
          ? noUpdate
          : await trainerOf(config.policy.threads).update(
              {
                batchFile,
                fromCheckpointDir: base,
                toCheckpointDir: directory.checkpointDir(version),
                version,
                referenceCheckpointDir:
                  config.learning.klCoefficient > 0 ? directory.checkpointDir(0) : undefined,
                objective: {
                  kind: 'policy',
                  clipLow: request.learning.clipLow ?? config.learning.clipLow,
                  clipHigh: request.learning.clipHigh ?? config.learning.clipHigh,
                  dualClip: request.learning.dualClip ?? config.learning.dualClip,
                  klCoefficient: request.learning.klCoefficient ?? config.learning.klCoefficient,
                  entropyCoefficient:
                    request.learning.entropyCoefficient ?? config.learning.entropyCoefficient,
                  temperature: config.rollout.temperature,
                },
                optimizer: optimizerOf(config, request.learning, step),
                microBatchTokens: config.learning.microBatchTokens,
              },
              (done, total) => heartbeat({ phase: 'update', done, total }),
            )
      const statistics: UpdateFigures = {
        ...figures,
        staleness: stalenessStatistics(groups.map((group) => staleness(request.version, group.version))),
        kl: trained.kl,
        referenceKl: trained.referenceKl,
        entropy: trained.entropy,
        clipFraction: trained.clipFraction,
        gradientNorm: trained.gradientNorm,
        loss: trained.loss,
        waitSeconds: request.waitedSeconds,
        trainSeconds: (performance.now() - since) / 1000,
      }
      const update = { run, step, version, statistics: { ...statistics }, groups: ids, created: Date.now() }
      await store.updates.put(update)
      return resultAt((await store.updates.get(run, step)) ?? update, request.version)
    },
  })

  /** The checkpoint of a version, or the newest good one before it. */
  async function goodCheckpoint(root: string, version: number): Promise<string> {
    const { found, refused } = await latestGoodCheckpoint(root, version)
    for (const { fault } of refused) log(fault.message)
    if (found === undefined)
      throw new CheckpointFault('missing', `${root} has no good checkpoint up to version ${version}`)
    if (found.version !== version) log(`training goes on from version ${found.version} instead of ${version}`)
    return found.dir
  }
}

const noUpdate = { loss: 0, kl: 0, referenceKl: 0, entropy: 0, clipFraction: 0, gradientNorm: 0 } as const

function heartbeat(details: TrainingPhase): void {
  tellProgress(details)
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

/** AdamW of an update; what is steered is the top of the learning rate's course. */
function optimizerOf(config: RunConfig, change: LearningChange, step: number) {
  const { learning, training } = config
  const learningRate = learningRateAt(step, {
    peak: change.learningRate ?? learning.learningRate,
    warmUpUpdates: learning.warmUpUpdates,
    finalShare: learning.finalLearningRateShare,
    updates: training.updates,
  })
  return {
    ...adamwOf(config),
    learningRate,
    gradientClip: change.gradientClip ?? learning.gradientClip,
    weightDecay: change.weightDecay ?? learning.weightDecay,
  }
}

function adamwOf({ learning: { beta1, beta2, epsilon, weightDecay, gradientClip } }: RunConfig) {
  return { beta1, beta2, epsilon, weightDecay, gradientClip }
}

/**
 * What the run learns of an update. One that ended behind the back of a stopped run, which was rolled back
 * before it heard of it, counts as done; its weights are left behind with their line.
 */
function resultAt({ version, statistics, groups }: StoredUpdate, current: number): UpdateResult {
  const { success, samples = {}, reward, staleness, signal } = statistics as unknown as UpdateFigures
  return {
    version: Math.max(version, current),
    success,
    samples,
    reward,
    staleness: staleness.mean,
    ...(signal === undefined ? {} : { signal }),
    groups,
  }
}
