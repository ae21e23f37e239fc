/**
 * The contract of a trainer: (batch file, checkpoint) → (next checkpoint, statistics).
 *
 * Invariants
 * - A trainer knows nothing but the two files: any update can be run again alone, with the same bytes.
 * - The next checkpoint is published last and atomically; a killed update leaves none.
 */

/** Settings of one update; all of them are in the run's configuration. */
export interface ObjectiveSettings {
  /** `policy`: the clipped objective; `supervised`: mean negative log-likelihood of the masked tokens. */
  readonly kind: 'policy' | 'supervised'
  readonly clipLow: number
  readonly clipHigh: number
  readonly dualClip: number
  readonly klCoefficient: number
  readonly entropyCoefficient: number
  readonly temperature: number
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
  readonly fromCheckpointDir: string
  /** Must not exist, or hold this update's finished result already. */
  readonly toCheckpointDir: string
  /** The version the new checkpoint carries. */
  readonly version: number
  /** Reference policy of the k3 term; absent when klCoefficient is 0. */
  readonly referenceCheckpointDir?: string | undefined
  readonly objective: ObjectiveSettings
  readonly optimizer: OptimizerSettings
  /** Tokens of one micro-batch: bounds memory, never changes the result beyond rounding. */
  readonly microBatchTokens: number
}

export interface UpdateStatistics {
  readonly loss: number
  /** Mean k3 divergence to the behaviour policy over action tokens. */
  readonly kl: number
  /** Mean k3 divergence to the reference, 0 without one. */
  readonly referenceKl: number
  readonly entropy: number
  readonly clipFraction: number
  readonly gradientNorm: number
  readonly actionTokens: number
  readonly tokens: number
  readonly seconds: number
}

export interface Trainer {
  update(
    request: UpdateRequest,
    onProgress?: (done: number, total: number) => void,
  ): Promise<UpdateStatistics>
  close(): Promise<void>
}

/** The trainer could not finish the update. */
export class TrainerFault extends Error {
  override readonly name = 'TrainerFault'
  readonly kind: 'bad_batch' | 'bad_checkpoint' | 'not_finite' | 'crashed' | 'backend'
  readonly permanent: boolean

  constructor(kind: TrainerFault['kind'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
    this.permanent = kind === 'bad_batch' || kind === 'not_finite'
  }
}
