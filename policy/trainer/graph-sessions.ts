/**
 * Inference sessions of the training graphs of one thread, and their runs.
 *
 * Invariants
 * - An inference session is made once per architecture and kind, and serves every version of the policy.
 */
import { createInferenceSession, type InferenceSession, type Tensor, tensor } from '../graph/runtime.ts'
import { type Architecture, type Weights, weightSpecs } from '../transformer/architecture.ts'
import { type GraphKind, objectiveGraph } from '../transformer/objective-graph.ts'
import { rotaryTables } from '../transformer/rope.ts'
import { addGradients, type Gradients } from './gradient-sum.ts'
import type { MicroBatch } from './micro-batch.ts'

/** Weights wrapped for feeding; the arrays are shared, so a change in place needs no new feeds. */
export type WeightFeeds = Readonly<Record<string, Tensor<'float32'>>>

/** Wraps weights for feeding. */
export function weightFeeds(architecture: Architecture, weights: Weights): WeightFeeds {
  return Object.fromEntries(
    weightSpecs(architecture).map(({ name, shape }) => [
      name,
      tensor('float32', weights.get(name) as Float32Array, shape),
    ]),
  )
}

/** What one run gives: one number per counted token, in the micro-batch's order. */
export interface TokenResults {
  readonly logprobs: Float32Array
  readonly entropy: Float32Array
}

/** Inputs of an objective beside the layout: vectors [rows] and numbers. */
export interface ObjectiveFeeds {
  readonly vectors: Readonly<Record<string, Float32Array>>
  readonly numbers: Readonly<Record<string, number>>
}

/** A micro-batch with its objective. */
export interface GraphWork {
  readonly micro: MicroBatch
  readonly objective: ObjectiveFeeds
}

/** Attention blocks; against 1 block 4 give 13 % more tokens per second at 256 tokens, 18 % at 512, 8 give less. */
const attentionBlocks = 4

/**
 * Threads sleep at once when they wait: a gradient's operations last milliseconds, and other work shares the
 * cores. Beside such work 2,048 tokens took 186 ms so, and 323 ms spinning (medians of 60 in turns).
 */
const waitingSpin = 0

export class GraphSessions {
  readonly #threads: number
  readonly #sessions = new Map<string, Promise<InferenceSession>>()
  readonly #positions = new Map<string, Readonly<Record<string, Tensor>>>()
  readonly #masks = new Map<number, Tensor>()

  /** @param threads of one run; another count may change results in their last bits */
  constructor(threads: number) {
    this.#threads = threads
  }

  /**
   * Runs one micro-batch.
   * @param sums where gradients are added; must be given exactly for kinds that have some
   * @throws RuntimeFault
   */
  async run(
    architecture: Architecture,
    kind: GraphKind,
    weights: WeightFeeds,
    { micro, objective }: GraphWork,
    sums?: Gradients,
  ): Promise<TokenResults> {
    const session = await this.session(architecture, kind)
    const { batch, time, tokens, rows, targets } = micro
    const count = rows.length
    const feeds: Record<string, Tensor> = {
      ...weights,
      ...this.#tables(architecture, time),
      mask: this.#mask(time),
      tokens: tensor('int64', tokens, [batch, time]),
      rows: tensor('int64', rows, [count]),
      targets: tensor('int64', targets, [count]),
    }
    for (const [name, vector] of Object.entries(objective.vectors))
      feeds[name] = tensor('float32', vector, [count])
    for (const [name, number] of Object.entries(objective.numbers))
      feeds[name] = tensor('float32', Float32Array.of(number), [])
    const results = await session.run(feeds)
    if (sums !== undefined) addGradients(sums, results, micro)
    return {
      logprobs: (results.logprobs as Tensor<'float32'>).data,
      entropy: (results.entropy as Tensor<'float32'>).data,
    }
  }

  /** The inference session of a kind of graph, made at its first use. */
  session(architecture: Architecture, kind: GraphKind): Promise<InferenceSession> {
    const key = `${kind} ${JSON.stringify(architecture)}`
    let session = this.#sessions.get(key)
    if (session === undefined) {
      session = createInferenceSession(objectiveGraph(architecture, kind, attentionBlocks), {
        threads: this.#threads,
        spinMicroseconds: waitingSpin,
      })
      this.#sessions.set(key, session)
    }
    return session
  }

  /** Frees all inference sessions. */
  async release(): Promise<void> {
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    for (const session of sessions) await (await session).release()
  }

  #tables(architecture: Architecture, time: number): Readonly<Record<string, Tensor>> {
    const key = `${architecture.head_dim} ${architecture.rope_theta} ${time}`
    let tables = this.#positions.get(key)
    if (tables === undefined) {
      const { cosines, sines, negativeSines } = rotaryTables(architecture, time)
      const dims = [time, architecture.head_dim / 2]
      tables = {
        cosines: tensor('float32', cosines, dims),
        sines: tensor('float32', sines, dims),
        negative_sines: tensor('float32', negativeSines, dims),
      }
      this.#positions.set(key, tables)
    }
    return tables
  }

  #mask(time: number): Tensor {
    let mask = this.#masks.get(time)
    if (mask === undefined) {
      const data = new Float32Array(time * time)
      for (let query = 0; query < time; query++) data.fill(-1e9, query * time + query + 1, (query + 1) * time)
      mask = tensor('float32', data, [time, time])
      this.#masks.set(time, mask)
    }
    return mask
  }
}
