/**
 * The contract of a trainer: (batch file, checkpoint) → (next checkpoint, statistics).
 *
 * Invariants
 * - A trainer knows nothing but the two files: any update can be run again alone, with the same bytes.
 * - The next checkpoint is published last and atomically; a killed update leaves none.
 */
import { Fault } from '../../faults/fault.ts'
import type { PolicyLoss } from '../../learning/algorithms/algorithms.ts'
import type { EntropyBand } from '../../learning/loss/objective.ts'
import type { TrainerFigures } from '../../learning/run/metrics.ts'
import type { Division } from './update/minibatches.ts'
import type { OriginSums } from './update/origins.ts'

/** A loss that comes with Perdure, by name, or that of an algorithm in a module (`Algorithm`). */
export type LossChoice =
  | PolicyLoss
  | {
      readonly name: string
      /** Absolute path. */
      readonly module: string
    }

/** Settings of one update; all of them are in the run's configuration. */
export interface ObjectiveSettings {
  /** `policy`: the clipped objective; `supervised`: mean negative log-likelihood of the masked tokens. */
  readonly kind: 'policy' | 'supervised'
  /** The policy objective; absent: `clipped`. */
  readonly loss?: LossChoice | undefined
  /** Where tasks have objectives of their own: the losses that the batch's `losses` count; then `loss` is absent. */
  readonly losses?: readonly LossChoice[] | undefined
  readonly clipLow: number
  readonly clipHigh: number
  readonly dualClip: number
  readonly klCoefficient: number
  readonly entropyCoefficient: number
  /** Bounds of the entropy of tokens whose algorithm `smoothsEntropy`; absent: none. */
  readonly entropyBand?: EntropyBand | undefined
  readonly temperature: number
  /** Ratios are to the policy that the update starts from, and tokens are weighed by it up to here; absent: to the one that sampled. */
  readonly decoupled?: { readonly importanceLimit: number } | undefined
}

export interface OptimizerSettings {
  readonly learningRate: number
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
  readonly gradientClip: number
}

export interface UpdateRequest {
  /** Safetensors file as `batch.ts` describes it. */
  readonly batchFile: string
  /**
   * Where the trainer may write what it found of each token (`token-figures.ts`), whole or not at all, before it publishes; absent:
   * nowhere. A trainer that writes none lacks nothing.
   */
  readonly tokenFile?: string | undefined
  readonly fromCheckpointDir: string
  /** Must not exist, or hold this update's finished result already. */
  readonly toCheckpointDir: string
  /** The version the new checkpoint carries. */
  readonly version: number
  /** Reference policy of the k3 term; absent when klCoefficient is 0. */
  readonly referenceCheckpointDir?: string | undefined
  readonly objective: ObjectiveSettings
  readonly optimizer: OptimizerSettings
  /** Optimizer steps of the update; absent: one, for the whole batch. */
  readonly division?: Division | undefined
  /** Norm of the gradient, before it is clipped, above which the update is refused; absent: any that is finite is taken. */
  readonly gradientLimit?: number | undefined
  /** Tokens of one micro-batch: bounds memory, never changes the result beyond rounding. */
  readonly microBatchTokens: number
}

/** The figures of the table of metrics, as each step found them: means over action tokens, norms over steps. */
export interface UpdateStatistics extends TrainerFigures {
  readonly actionTokens: number
  readonly tokens: number
  /** Importance ratios of a policy objective before the first step, by origin of the tokens; absent where it does not measure them. */
  readonly origins?: readonly OriginSums[] | undefined
  readonly seconds: number
}

/**
 * Supervised steps over demonstrations, of which one chunk gives one checkpoint: step s of the whole warm
 * start is the same whichever chunk holds it.
 */
export interface WarmStartRequest {
  /**
   * Demonstrations in the form of an update's batch; behaviour logprobs and advantages are not read. With `weights` a demonstration
   * counts by those of its tokens, relative to the others of its step.
   */
  readonly demonstrationsFile: string
  readonly fromCheckpointDir: string
  /** Must not exist, or hold this chunk's finished result already. */
  readonly toCheckpointDir: string
  readonly version: number
  /** First step of this chunk, counted from the beginning of the warm start. */
  readonly firstStep: number
  /** Steps of this chunk. */
  readonly steps: number
  /** The step that takes the first demonstrations of the file, where the chunk has one of its own; absent: 0. */
  readonly planStart?: number | undefined
  /** Steps of the whole warm start, for the learning rate's course. */
  readonly totalSteps: number
  /** A step takes demonstrations until they hold this many tokens. */
  readonly batchTokens: number
  /** Steps over which the learning rate rises to `optimizer.learningRate`; then it falls as a cosine to a tenth. */
  readonly warmUpSteps: number
  /** Order of the demonstrations. */
  readonly seed: number
  /** The weight of a token that the expert reads, beside 1 for one that it writes. */
  readonly observationWeight: number
  readonly optimizer: OptimizerSettings
  readonly microBatchTokens: number
}

export interface WarmStartStatistics {
  /** Mean negative log-likelihood per counted token, over the chunk's steps and over its last one. */
  readonly loss: number
  readonly lastLoss: number
  readonly gradientNorm: number
  readonly actionTokens: number
  readonly tokens: number
  readonly seconds: number
}

/** Logprobs of given tokens under a checkpoint, as the trainer computes them. */
export interface LogprobsRequest {
  readonly checkpointDir: string
  /** As in `batch.ts`. */
  readonly tokens: Int32Array
  readonly offsets: Int32Array
  readonly lossMask: Uint8Array
  readonly temperature: number
  readonly microBatchTokens: number
}

/** Learnt values of turns under a checkpoint. */
export interface ValuesRequest {
  /** Safetensors file as `batch.ts` describes it, with `turn_starts`. */
  readonly batchFile: string
  readonly checkpointDir: string
  readonly microBatchTokens: number
}

/** @throws (all methods) TrainerFault */
export interface Trainer {
  /** Names of the losses that it offers beside the one of a plain update; absent: it does all, those of modules too. */
  losses?(): Promise<readonly string[]>
  /**
   * Optimizer steps over one batch: one, or as it is divided.
   * @param signal a trainer in another process is ended by it; others finish, and what they publish is found
   */
  update(
    request: UpdateRequest,
    onProgress?: (done: number, total: number) => void,
    signal?: AbortSignal,
  ): Promise<UpdateStatistics>
  /**
   * Many supervised optimizer steps, one checkpoint; progress counts steps.
   * @param signal ends it between two steps, and a trainer in another process at once; nothing is published then
   */
  warmStart(
    request: WarmStartRequest,
    onProgress?: (done: number, total: number) => void,
    signal?: AbortSignal,
  ): Promise<WarmStartStatistics>
  /** @returns [N] natural logarithms, 0 where the mask is 0 */
  logprobs(request: LogprobsRequest): Promise<Float32Array>
  /** @returns [turns] in the order of the batch */
  values(request: ValuesRequest, signal?: AbortSignal): Promise<readonly number[]>
  close(): Promise<void>
}

/** A trainer of someone's own: what it leaves out the embedded one does. @throws (all methods) TrainerFault */
export interface OwnTrainer extends Pick<Trainer, 'update'> {
  readonly warmStart?: Trainer['warmStart']
  readonly values?: Trainer['values']
  /** Names of the losses that it can do in one batch, and of a user's own algorithms that it knows; absent: one of Perdure's at a time. */
  readonly losses?: () => Promise<readonly string[]>
  readonly close?: Trainer['close']
}

/** Options for opening a custom trainer. */
export interface TrainerOptions {
  /** Threads that it may take. */
  readonly threads: number
  /** The trainer that comes with Perdure, to be used for parts of the work. */
  readonly embedded: Pick<Trainer, 'update' | 'warmStart' | 'logprobs' | 'values'>
}

/** A kind of trainer. A custom module exports it: `export const trainer: TrainerDefinition = …`. */
export interface TrainerDefinition {
  readonly name: string
  /** @throws TrainerFault */
  openTrainer(options: TrainerOptions): Promise<OwnTrainer>
}

/**
 * The trainer could not finish the update. `not_finite`, `exploded`: its gradient or its weights are no numbers, or the gradient
 * is larger than allowed; nothing was published. `storage`: a file could be neither read nor written, for instance because the
 * disk is full. `stalled`, `bad_answer`: a trainer in another process reported nothing for too long, or its answer or checkpoint is
 * not what it was asked for; its process was ended. `bad_loss`: a custom algorithm does not load, throws, or gives what is no
 * finite number. `unsupported`: the trainer does not offer such a loss.
 */
export class TrainerFault extends Fault<
  | 'bad_batch'
  | 'bad_checkpoint'
  | 'not_finite'
  | 'exploded'
  | 'crashed'
  | 'storage'
  | 'backend'
  | 'stalled'
  | 'bad_answer'
  | 'bad_loss'
  | 'unsupported'
> {
  override readonly name = 'TrainerFault'
  protected static override readonly permanentKinds: readonly TrainerFault['kind'][] = [
    'bad_batch',
    'not_finite',
    'exploded',
    'bad_loss',
    'unsupported',
  ]
}
