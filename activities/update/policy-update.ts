/**
 * One update by the policy objective: from the groups it consumes and a checkpoint to the next checkpoint.
 *
 * Invariants
 * - It reads one batch file and one checkpoint and writes the next checkpoint, whole or not at all.
 * - The first attempt decides which groups it consumes.
 * - [UPDATE-1] A broken checkpoint is never trained on: the newest good one before it takes its place.
 * - [UPDATE-2] An update whose gradient or weights are not finite, or whose gradient is larger than allowed, is refused: the version
 *   stays as it is, and the result says why. Its groups are spent, so that the run does not train on them again.
 * - [UPDATE-3] The groups that an update consumes are on the disk before the checkpoint that is trained on them: after a power
 *   cut another attempt finds both, or neither.
 * - [UPDATE-4] No update follows one that the store has lost: the groups of that one would count as unused, and its step would be
 *   missing for good.
 * - The objective and its inputs follow from the settings that hold now, never from the configuration alone.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import type { LearningChange } from '../../contract/messages.ts'
import { type GroupId, type RunId, seedOf } from '../../identity/identity.ts'
import { learningRateAt } from '../../learning/loss/learning-rate.ts'
import type { MemberWeight } from '../../learning/rollout/adaptive-pool.ts'
import { staleness, stalenessStatistics } from '../../learning/rollout/staleness.ts'
import type { LearningSignal } from '../../learning/run/learning-signal.ts'
import type { TrainerFigures } from '../../learning/run/metrics.ts'
import { settingsInForce } from '../../learning/run/settings-in-force.ts'
import { noTrainerFigures, trainerFigures } from '../../learning/run/trainer-figures.ts'
import { clock } from '../../machine/services/clock.ts'
import { latestGoodCheckpoint } from '../../policy/checkpoints/versions.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import { writeUpdateBatch } from '../../policy/trainer/batch-file.ts'
import {
  type LossChoice,
  type Trainer,
  TrainerFault,
  type UpdateRequest as TrainerRequest,
  type UpdateStatistics,
} from '../../policy/trainer/trainer.ts'
import { checkOffer } from '../../policy/trainer/update/losses.ts'
import type { Groups } from '../../storage/records/groups.ts'
import type { StoredUpdate, Updates } from '../../storage/records/updates.ts'
import type { Store } from '../../storage/store.ts'
import type { Answers } from '../../storage/trajectories/answers.ts'
import type { UpdateFigures } from '../metrics/update-metrics.ts'
import { requireUpdate } from '../stored/known-work.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { askedValues } from './asked-values.ts'
import { earlierGroups } from './earlier-groups.ts'
import { type EntropyBonus, entropyBonus } from './entropy-bonus.ts'
import { lossChoices, lossNeeds } from './loss-choices.ts'
import { measuredWeights, ratiosByOrigin } from './origin-figures.ts'
import { type BatchRules, collectBatch, type PlayedGroups } from './update-batch.ts'

export interface UpdateRequest {
  readonly run: RunId
  /** From 1. */
  readonly step: number
  /** Current version, before the update. */
  readonly version: number
  /** Consumed groups with the version at which each was admitted. */
  readonly groups: readonly { readonly group: GroupId; readonly version: number }[]
  /** Groups that were skipped for it, which are consumed too. */
  readonly skipped: readonly GroupId[]
  readonly learning: LearningChange
  /** [tasks] as they hold now. */
  readonly taskWeights: readonly number[]
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
  /** The learning signal of its groups. */
  readonly signal: LearningSignal
  /** Why it was refused, in words; absent for one that was made. */
  readonly refused?: string
  /** Weights of the pool's members that it has measured; absent where sampling does not adapt. */
  readonly memberWeights?: readonly MemberWeight[]
  /** The groups that it consumed. */
  readonly groups: readonly GroupId[]
}

/** The parts of the store that an update reads and writes. */
interface UpdateStore extends PlayedGroups {
  readonly groups: Pick<Groups, 'get' | 'list' | 'consume'>
  readonly updates: Pick<Updates, 'get' | 'put'>
  readonly answers: Pick<Answers, 'totals'>
  readonly flushed: Store['flushed']
}

/** Store, trainer and reports of an update. */
export interface UpdateTools {
  readonly store: UpdateStore
  readonly trainerOf: (settings: RunConfig['policy']) => Trainer
  /** Reports how far the trainer has come. */
  readonly onProgress: (done: number, total: number) => void
  /** Ends the work of a trainer in another process. */
  readonly signal?: AbortSignal
  readonly log: (line: string) => void
}

/** Updates the policy, or returns the result of an earlier attempt. */
export async function updatePolicy(
  request: UpdateRequest,
  opened: OpenRun,
  tools: UpdateTools,
): Promise<UpdateResult> {
  const { run, step, version: current } = request
  const { store } = tools
  const before = await store.updates.get(run, step)
  if (before !== undefined) return resultAt(before, current)
  await requireUpdate(store, run, step - 1)
  const groups = await consumedGroups(request, store)
  const ids = groups.map(({ group }) => group)
  const rules = rulesOf(opened, request)
  const earlier = await earlierGroups(store, request, ids, rules)
  const fromCheckpointDir = checkpointOnce(opened, request, tools.log)
  const valuesOf = await valuesAsked(request, opened, fromCheckpointDir, tools)
  const { batch, learnt, figures } = await collectBatch(store, ids, rules, earlier, valuesOf)
  const { worth, ...collected } = figures
  const asked = await store.answers.totals(ids)
  const since = clock.monotonic()
  const losses = await lossChoices(opened.config)
  const needs = await lossNeeds(losses)
  const learning = settingsInForce(opened.config.learning, request.learning)
  const { training } = opened.config
  const entropy = await entropyBonus(store.updates, request, { learning, training }, needs.smoothsEntropy)
  const given = { losses, entropy, ...needs }
  const trained = await train(request, opened, { batch, fromCheckpointDir }, given, tools)
  const statistics: UpdateFigures = {
    ...collected,
    ...ratiosByOrigin(trained.origins),
    staleness: stalenessStatistics(groups.map((group) => staleness(current, group.version))),
    ...trainerFigures(trained),
    ...(trained.refused === undefined ? {} : { refused: trained.refused }),
    ...(learning.entropyTarget === undefined ? {} : { entropyCoefficient: entropy.coefficient }),
    ...(opened.config.crossPolicy.weighting === 'adaptive'
      ? { memberWeights: measuredWeights(worth, trained.origins) }
      : {}),
    ...(asked.answers + asked.faults === 0 ? {} : { asked }),
    waitSeconds: request.waitedSeconds,
    trainSeconds: (clock.monotonic() - since) / 1000,
  }
  const isMade = batch !== null && trained.refused === undefined
  const version = isMade ? current + 1 : current
  const update = { run, step, version, statistics: { ...statistics }, groups: ids, created: clock.now() }
  await store.updates.put(update, isMade ? learnt : [])
  return resultAt((await store.updates.get(run, step)) ?? update, current)
}

/** The configuration with the weights of tasks that hold now. */
function rulesOf({ config }: OpenRun, { taskWeights }: Pick<UpdateRequest, 'taskWeights'>): BatchRules {
  const tasks = config.tasks.map((task, index) => ({ ...task, weight: taskWeights[index] ?? task.weight }))
  return { ...config, tasks }
}

/** The groups that the first attempt has taken, in the order of their numbers; the requested ones for the first. */
async function consumedGroups(
  { run, step, groups, skipped }: UpdateRequest,
  store: UpdateStore,
): Promise<UpdateRequest['groups']> {
  const listed = () => store.groups.list(run, { consumedBy: step })
  let consumed = await listed()
  if (consumed.length === 0) {
    await store.groups.consume([...groups.map(({ group }) => group), ...skipped], step)
    consumed = await listed()
  }
  await store.flushed()
  return consumed.map(({ id, version }) => ({ group: id, version }))
}

/** The trainer's part, where there is something to learn from. */
async function train(
  request: UpdateRequest,
  { config, directory }: OpenRun,
  learnt: { readonly batch: UpdateBatch | null; readonly fromCheckpointDir: () => Promise<string> },
  objective: Omit<GivenObjective, 'reference'>,
  { trainerOf, onProgress, signal, log }: UpdateTools,
): Promise<Trained> {
  const { batch } = learnt
  const fromCheckpointDir = await learnt.fromCheckpointDir()
  const trainer = trainerOf(config.policy)
  if (batch === null) {
    // A run that never learns would otherwise end as done with a trainer that cannot be started.
    await checkOffer(objective.losses, trainer)
    return noTrainerFigures
  }
  const batchFile = directory.batchFile(request.step)
  await writeUpdateBatch(batchFile, batch)
  const version = request.version + 1
  const toCheckpointDir = directory.checkpointDir(version)
  try {
    return await trainer.update(
      {
        ...learningOf(config, request, { ...objective, reference: referenceDir(config, directory) }),
        batchFile,
        tokenFile: directory.tokenFile(request.step),
        fromCheckpointDir,
        toCheckpointDir,
        version,
      },
      onProgress,
      signal,
    )
  } catch (error) {
    if (!(error instanceof TrainerFault && (error.kind === 'not_finite' || error.kind === 'exploded')))
      throw error
    log(`update ${request.step} is refused: ${error.message}`)
    return { ...noTrainerFigures, refused: error.message }
  }
}

/** The teacher, or the warm-started policy: the base of adapters, which version 0 equals. */
function referenceDir({ policy, learning }: RunConfig, directory: OpenRun['directory']): string {
  if (learning.teacher !== undefined) return learning.teacher
  return policy.lora === undefined ? directory.checkpointDir(0) : directory.baseDir
}

/** The part of an objective that follows from more than settings. */
interface GivenObjective {
  /** Those of the tasks. */
  readonly losses: readonly LossChoice[]
  /** Folder of the reference policy, which is read where its divergence counts or a loss reads it. */
  readonly reference: string
  readonly readsReference: boolean
  readonly entropy: EntropyBonus
}

/**
 * Objective and optimizer of an update by the settings that hold now; an order to the learning rate changes the top
 * of its schedule.
 */
function learningOf(
  { learning: configured, rollout, training, seed }: RunConfig,
  { learning: ordered, step }: Pick<UpdateRequest, 'learning' | 'step'>,
  { losses, reference, readsReference, entropy }: GivenObjective,
): Pick<
  TrainerRequest,
  'objective' | 'optimizer' | 'referenceCheckpointDir' | 'division' | 'gradientLimit' | 'microBatchTokens'
> {
  const learning = settingsInForce(configured, ordered)
  const { clipLow, clipHigh, dualClip, klCoefficient } = learning
  const { beta1, beta2, epsilon, weightDecay, gradientClip, gradientLimit, microBatchTokens } = learning
  const { minibatches, passes, targetKl } = learning
  const learningRate = learningRateAt(step, {
    peak: learning.learningRate,
    warmUpUpdates: learning.warmUpUpdates,
    finalShare: learning.finalLearningRateShare,
    updates: training.updates,
  })
  const { temperature } = rollout
  return {
    objective: {
      kind: 'policy',
      ...(losses.length > 1 ? { losses } : { loss: losses[0] }),
      clipLow,
      clipHigh,
      dualClip,
      klCoefficient,
      entropyCoefficient: entropy.coefficient,
      ...(entropy.band && { entropyBand: entropy.band }),
      temperature,
      ...(learning.proximal === 'start' ? { decoupled: { importanceLimit: learning.importanceLimit } } : {}),
    },
    optimizer: { beta1, beta2, epsilon, weightDecay, gradientClip, learningRate },
    referenceCheckpointDir: klCoefficient > 0 || readsReference ? reference : undefined,
    division: {
      ...{ minibatches, passes, seed: seedOf(seed, step, 'minibatches') },
      ...(targetKl > 0 && minibatches * passes > 1 ? { targetKl } : {}),
    },
    gradientLimit,
    microBatchTokens,
  }
}

/** The checkpoint that an update starts from, looked for once. */
function checkpointOnce(
  { directory }: OpenRun,
  { version }: Pick<UpdateRequest, 'version'>,
  log: (line: string) => void,
): () => Promise<string> {
  let found: Promise<string> | undefined
  return () => (found ??= goodCheckpoint(directory.checkpointsDir, version, log))
}

/** Learnt values of turns, where the algorithm reads them. */
function valuesAsked(
  { step }: Pick<UpdateRequest, 'step'>,
  { config, directory }: OpenRun,
  fromCheckpointDir: () => Promise<string>,
  { trainerOf, signal }: Pick<UpdateTools, 'trainerOf' | 'signal'>,
): ReturnType<typeof askedValues> {
  const { algorithm, microBatchTokens } = config.learning
  return askedValues(
    algorithm,
    () => trainerOf(config.policy),
    async () => ({
      batchFile: directory.batchFile(step),
      checkpointDir: await fromCheckpointDir(),
      microBatchTokens,
    }),
    signal,
  )
}

/** The checkpoint of a version, or the newest good one before it. */
async function goodCheckpoint(root: string, version: number, log: (line: string) => void): Promise<string> {
  const { found, refused } = await latestGoodCheckpoint(root, version)
  for (const { fault } of refused) log(fault.message)
  if (found === undefined)
    throw new CheckpointFault('missing', `${root} has no good checkpoint up to version ${version}`)
  if (found.version !== version) log(`training continues from version ${found.version} instead of ${version}`)
  return found.dir
}

/** The trainer's figures, or none with the reason why the update was refused. */
type Trained = TrainerFigures & Pick<UpdateStatistics, 'origins'> & { readonly refused?: string }

/**
 * The update's result for the run. An update that finishes after the run was stopped and rolled back counts as done; its
 * weights stay on the abandoned branch.
 */
function resultAt({ version, statistics, groups }: StoredUpdate, current: number): UpdateResult {
  const { success, samples, reward, staleness, signal, refused, memberWeights } =
    statistics as unknown as UpdateFigures
  return {
    version: Math.max(version, current),
    success,
    samples,
    reward,
    staleness: staleness.mean,
    signal,
    ...(refused === undefined ? {} : { refused }),
    ...(memberWeights === undefined ? {} : { memberWeights }),
    groups,
  }
}
