/**
 * A policy in training: weights, moments, and the step that changes them; of a policy with an adapter, the adapter alone.
 *
 * Invariants
 * - [TRAINING-POLICY-1] A step with a gradient that is not finite, or larger than is allowed, changes nothing; so does a rejected one.
 * - Moments are kept while the objective stays the same. Another objective starts without: those of a warm
 *   start come from gradients larger by orders of magnitude and would hold back the first updates.
 * - A policy at optimizer step 0 needs no moments; a later one without them is refused.
 * - [ADAPTER-TRAINING-1] Nothing but the adapter changes: after each step the weights that have one are merged from the base again, as a
 *   reader of the checkpoint merges them, and the others stay.
 * - Arrays are in shared memory.
 */
import type { ValueHead } from '../../../learning/loss/value-head.ts'
import type { JsonObject } from '../../../messages/message.ts'
import {
  type CheckpointAdapter,
  type CheckpointContent,
  publishCheckpoint,
} from '../../checkpoints/checkpoint.ts'
import { readWithMoments } from '../../checkpoints/restoring.ts'
import { CheckpointFault } from '../../files/checkpoint-fault.ts'
import { adapterGradients, adapterSpecs, mergedWeights } from '../../transformer/adapter.ts'
import {
  type Architecture,
  type WeightSpec,
  type Weights,
  weightSpecs,
} from '../../transformer/architecture.ts'
import { GradientSum, type Gradients, shared } from '../graphs/gradient-sum.ts'
import { type WeightFeeds, weightFeeds } from '../graphs/graph-sessions.ts'
import type { PolicyGraphs } from '../graphs/policy-graphs.ts'
import { type ObjectiveSettings, type OptimizerSettings, TrainerFault } from '../trainer.ts'
import { normOf, squares } from './adamw.ts'

type ObjectiveKind = ObjectiveSettings['kind']

export class TrainingPolicy {
  readonly architecture: Architecture
  readonly feeds: WeightFeeds
  readonly gradient: GradientSum
  /** The head of learnt values; undefined before its first fit. */
  valueHead: ValueHead | undefined
  readonly #source: CheckpointContent
  readonly #adapter: AdapterTraining | undefined
  /** The weights that a step changes: the adapter, or all. */
  readonly #trained: Weights
  readonly #specs: readonly WeightSpec[]
  readonly #first: ReadonlyMap<string, Float32Array>
  readonly #second: ReadonlyMap<string, Float32Array>
  /** Optimizer steps behind the weights, and those behind the moments. */
  #steps: number
  #momentSteps: number
  #objective: ObjectiveKind

  private constructor(content: CheckpointContent, objective: ObjectiveKind) {
    const { architecture, adapter, state, optimizer } = content
    const weights = new Map([...content.weights].map(([name, weight]) => [name, shared(weight)]))
    this.architecture = architecture
    this.feeds = weightFeeds(architecture, weights)
    this.gradient = new GradientSum(architecture)
    this.#source = { ...content, weights }
    this.#adapter = adapter && new AdapterTraining(architecture, adapter, weights)
    this.#trained = this.#adapter?.adapter.weights ?? weights
    this.#specs = adapter ? adapterSpecs(architecture, adapter.shape) : weightSpecs(architecture)
    const moments = (known: ReadonlyMap<string, Float32Array> | undefined) =>
      new Map(
        [...this.#trained].map(([name, { length }]) => [
          name,
          shared(known?.get(name) ?? new Float32Array(length)),
        ]),
      )
    this.#first = moments(optimizer?.first)
    this.#second = moments(optimizer?.second)
    this.#steps = state.step
    this.#momentSteps = optimizer?.step ?? 0
    this.#objective = objective
    const { valueHead } = state.facts
    this.valueHead = Array.isArray(valueHead) ? valueHead.map(Number) : undefined
  }

  /** @throws CheckpointFault */
  static async read(dir: string, objective: ObjectiveKind): Promise<TrainingPolicy> {
    const content = await readWithMoments(dir)
    const before = content.state.facts.objective
    if (content.optimizer === undefined && content.state.step > 0 && before === objective)
      throw new CheckpointFault(
        'missing',
        `checkpoint ${dir}: it is at step ${content.state.step}, but was published without moments to continue from`,
      )
    const policy = new TrainingPolicy(content, before === 'policy' ? 'policy' : 'supervised')
    policy.pursue(objective)
    return policy
  }

  /** Prepares for an objective; the moments of another are dropped. */
  pursue(objective: ObjectiveKind): void {
    if (objective === this.#objective) return
    for (const moments of [this.#first, this.#second]) for (const moment of moments.values()) moment.fill(0)
    this.#momentSteps = 0
    this.#objective = objective
  }

  /**
   * One step of AdamW with the gradient summed up, its global norm clipped.
   * @param normLimit norm before clipping above which the step is refused
   * @param isRejected by the norm, and that of the output matrix (`StepFigures`), whether the step is left out: it changes nothing then
   * @returns the norm before clipping
   * @throws TrainerFault `not_finite`, `exploded`
   */
  async step(
    graphs: PolicyGraphs,
    settings: OptimizerSettings,
    learningRate: number,
    normLimit: number = Number.POSITIVE_INFINITY,
    isRejected: (norm: number, headNorm: number) => boolean = () => false,
  ): Promise<number> {
    const { gradients } = this.#adapter ?? this.gradient
    const norm = normOf(this.#adapter?.collect(this.gradient.gradients) ?? this.gradient.squares)
    if (!Number.isFinite(norm))
      throw new TrainerFault(
        'not_finite',
        `the gradient's norm is ${norm} after ${this.#steps} steps: lower the learning rate, or look at the batch`,
      )
    if (norm > normLimit)
      throw new TrainerFault(
        'exploded',
        `the gradient's norm is ${norm} after ${this.#steps} steps, and ${normLimit} is allowed: lower the learning rate, or look at the batch`,
      )
    if (isRejected(norm, this.#adapter ? norm : this.#headNorm())) return norm
    this.#steps += 1
    this.#momentSteps += 1
    const scale = norm > settings.gradientClip ? settings.gradientClip / norm : 1
    const weights = this.#specs.map(({ name, shape }) => ({
      weight: this.#trained.get(name) as Float32Array,
      gradient: gradients.get(name) as Float32Array,
      first: this.#first.get(name) as Float32Array,
      second: this.#second.get(name) as Float32Array,
      isMatrix: shape.length > 1,
    }))
    await graphs.step(weights, { settings, learningRate, step: this.#momentSteps, scale })
    this.#adapter?.merge()
    return norm
  }

  #headNorm(): number {
    const specs = weightSpecs(this.architecture)
    const head = specs.findIndex(({ name }) => name === 'lm_head.weight')
    // Tied, the head is the embeddings, which stand first.
    return Math.sqrt(this.gradient.squares[Math.max(0, head)] ?? Number.NaN)
  }

  /** @throws TrainerFault `not_finite` naming a weight that is no number */
  checkWeights(): void {
    for (const [name, weight] of [...this.#trained, ...this.#source.weights])
      if (!Number.isFinite(squares(weight)))
        throw new TrainerFault(
          'not_finite',
          `${name} is not finite after ${this.#steps} steps: lower the learning rate`,
        )
  }

  /**
   * Publishes weights and moments.
   * @param facts must hold no time of day, which would change the bytes
   * @returns whether this call published them
   * @throws CheckpointFault
   */
  publish(dir: string, version: number, facts: JsonObject): Promise<boolean> {
    const { architecture, weights, tokenizer, state, modelChat } = this.#source
    return publishCheckpoint(dir, {
      architecture,
      weights,
      adapter: this.#adapter?.adapter,
      tokenizer,
      modelChat,
      state: {
        version,
        step: this.#steps,
        chat: state.chat,
        facts: {
          ...facts,
          objective: this.#objective,
          ...(this.valueHead && { valueHead: [...this.valueHead] }),
        },
      },
      optimizer: { step: this.#momentSteps, first: this.#first, second: this.#second },
    })
  }
}

/** An adapter in training: its weights and gradients, and the policy's weights that follow from them. */
class AdapterTraining {
  /** The published adapter; training changes its arrays. */
  readonly adapter: CheckpointAdapter
  readonly gradients: Gradients
  readonly #architecture: Architecture
  /** The weights of the policy, changed in place. */
  readonly #merged: Weights

  constructor(architecture: Architecture, adapter: CheckpointAdapter, merged: Weights) {
    const entries = [...adapter.weights]
    this.adapter = { ...adapter, weights: new Map(entries.map(([name, data]) => [name, shared(data)])) }
    this.gradients = new Map(entries.map(([name, { length }]) => [name, shared(new Float32Array(length))]))
    this.#architecture = architecture
    this.#merged = merged
  }

  /** Takes the gradients of the policy's weights. @returns the sum of squares of each of the adapter's */
  collect(ofPolicy: Gradients): readonly number[] {
    adapterGradients(this.#architecture, this.adapter, ofPolicy, this.gradients)
    return [...this.gradients.values()].map(squares)
  }

  merge(): void {
    mergedWeights(this.#architecture, this.adapter.baseWeights, this.adapter, this.#merged)
  }
}
