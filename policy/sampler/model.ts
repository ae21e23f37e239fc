/**
 * An architecture ready to sample: its inference sessions and tables, shared by all versions.
 *
 * Invariants
 * - A large policy's new version needs no new inference session: weights are fed with every step. Those of a small one
 *   are constants of a session for this version alone, because the runtime multiplies by constants faster.
 * - Where results must be exact, a row's result depends on its own inputs alone, to the bit: no decode step has a
 *   single row; what is read together is padded by whole blocks of zeros, never by another order of a sum's terms.
 */
import { createInferenceSession, type InferenceSession, type Tensor, tensor } from '../graph/runtime.ts'
import {
  type Architecture,
  elementCount,
  headMultiple,
  type Weights,
  weightSpecs,
} from '../transformer/architecture.ts'
import { buildDecodeGraph } from '../transformer/decode-graph.ts'
import { buildPrefillGraph, maskedScore } from '../transformer/prefill-graph.ts'
import { rotaryTables } from '../transformer/rope.ts'
import { type Batch, type DrawSettings, type Feeds, fewestRows, int64Cells } from './batch.ts'
import { type FusedWeights, fuseWeights } from './fused-weights.ts'
import { capacityFor } from './prefix-cache.ts'

type StepResults = Readonly<Record<string, Tensor>>

/** The draws of a step, one place for each row that draws. */
export interface Draws {
  readonly tokens: Int32Array
  readonly probabilities: Float32Array
}

/** One row of a prefill step. */
export interface PrefillRow {
  readonly slot: number
  /** Tokens fed from the slot's length on. */
  readonly tokens: Int32Array
  /** The draw after the last token; undefined where more chunks follow. */
  readonly draw?: DrawSettings
}

/** Settings for a token that is computed and not used. */
const undrawn: DrawSettings = { inverseTemperature: 1, greedy: true, uniform: 0 }

/**
 * Steps are many short products. On two cores shared with other work a decode step of 32 rows took (median,
 * CPU) 6.9 ms, 5.7 ms with the runtime's spin, 3.8 ms, 3.9 ms with 10 µs; alone both take about 2 ms.
 */
const spinMicroseconds = 20

/**
 * Chunks are padded to a multiple of this where results must be exact, the places that the runtime's softmax
 * sums side by side: a longer chunk in the same step then only adds zeros to the end of each partial sum.
 */
const exactChunkBlock = 64

/** The most bytes of constants in the runtime: they are added for each version, and few versions are loaded at once. */
const defaultMostStored = 64 * 2 ** 20

/** Sessions of a policy whose weights are fed. */
interface Sessions {
  readonly decode: InferenceSession
  /** Prefill after a past. */
  readonly prefill: InferenceSession
  /** Prefill of contexts from their first token on. */
  readonly fresh: InferenceSession
}

/** A version, ready to be sampled from: its weights as they are fed, or in a session of its own that reads and decodes. */
export type VersionWeights = { readonly fed: FusedWeights } | { readonly own: InferenceSession }

/** Frees what a version had for itself. */
export async function releaseVersion(weights: VersionWeights): Promise<void> {
  if ('own' in weights) await weights.own.release()
}

interface Tables {
  readonly cos: Tensor
  readonly sin: Tensor
}

interface SamplingModelOptions {
  readonly threads: number
  readonly contextLength: number
  /** Tokens of all rows of a prefill step at most; the runtime wants a rotation for each, whatever their positions. */
  readonly prefillTokens: number
  readonly exact?: boolean
  /** Weights up to this many bytes become constants; 64 MiB by default. */
  readonly mostStored?: number
}

export class SamplingModel {
  /** The policy's, with heads as wide as the runtime wants them. */
  readonly architecture: Architecture
  /** Floats that one position takes: keys and values of all layers. */
  readonly floatsPerPosition: number
  readonly #policy: Architecture
  /** Undefined where each version has a session of its own. */
  readonly #sessions: Sessions | undefined
  readonly #tables: Tables
  readonly #chunkBlock: number
  readonly #exactThreads: number
  readonly #threads: number

  private constructor(
    policy: Architecture,
    architecture: Architecture,
    sessions: Sessions | undefined,
    { threads, contextLength, prefillTokens, exact = true }: SamplingModelOptions,
  ) {
    this.#chunkBlock = exact ? exactChunkBlock : 1
    this.#exactThreads = exactThreads({ threads, exact })
    this.#threads = threads
    this.#policy = policy
    this.architecture = architecture
    this.#sessions = sessions
    this.#tables = tablesOf(
      policy,
      architecture.head_dim,
      Math.max(capacityFor(contextLength), prefillTokens),
    )
    const { num_hidden_layers: layers, num_key_value_heads: heads, head_dim: headDim } = architecture
    this.floatsPerPosition = 2 * layers * heads * headDim
  }

  /** @throws RuntimeFault the runtime refuses the graphs */
  static async create(policy: Architecture, options: SamplingModelOptions): Promise<SamplingModel> {
    const { threads } = options
    const architecture = { ...policy, head_dim: Math.ceil(policy.head_dim / headMultiple) * headMultiple }
    const exact = exactThreads(options)
    const session = { threads, spinMicroseconds }
    if (weightBytes(policy) <= (options.mostStored ?? defaultMostStored))
      return new SamplingModel(policy, architecture, undefined, options)
    const [decode, prefill, fresh] = await Promise.all([
      createInferenceSession(buildDecodeGraph(architecture, exact), session),
      createInferenceSession(buildPrefillGraph(architecture, exact, true), session),
      createInferenceSession(buildPrefillGraph(architecture, exact, false), session),
    ])
    return new SamplingModel(policy, architecture, { decode, prefill, fresh }, options)
  }

  /** @throws RangeError weights that do not fit the architecture, RuntimeFault */
  async prepare(weights: Weights): Promise<VersionWeights> {
    const { head_dim: wide } = this.architecture
    if (this.#sessions !== undefined)
      return { fed: fuseWeights(this.#policy, weights, this.#exactThreads, wide) }
    const stored = new Map(Object.entries(fuseWeights(this.#policy, weights, 1, wide)))
    const graph = buildDecodeGraph(this.architecture, 1, stored)
    return { own: await createInferenceSession(graph, { threads: this.#threads, spinMicroseconds }) }
  }

  /** One decode step over the first `width` slots: it writes keys, values and what was drawn into the batch. */
  async decode(batch: Batch, width: number, weights: VersionWeights): Promise<void> {
    const { feeds, outputs } = batch.decodeStep(width)
    if ('own' in weights) await weights.own.write({ ...feeds, ...this.#tables }, outputs)
    else await this.#sessions?.decode.write({ ...feeds, ...this.#tables, ...weights.fed }, outputs)
  }

  /**
   * One prefill step, which lengthens its rows; all of them are fresh or none is.
   * @returns a draw for each row that draws, in order
   */
  async prefill(
    batch: Batch,
    rows: readonly PrefillRow[],
    fresh: boolean,
    weights: VersionWeights,
  ): Promise<Draws> {
    if ('own' in weights) return await this.#readEach(batch, rows, weights.own)
    const results = await this.#readTogether(batch, rows, fresh, weights.fed)
    for (const [row, { slot, tokens }] of rows.entries())
      batch.appendPrefilled(slot, row, tokens.length, results)
    return {
      tokens: results.token?.data as Int32Array,
      probabilities: results.probability?.data as Float32Array,
    }
  }

  /** Row by row: what a run costs beside its products is less than what rows of unequal length cost together. */
  async #readEach(batch: Batch, rows: readonly PrefillRow[], session: InferenceSession): Promise<Draws> {
    const tokens: number[] = []
    const probabilities: number[] = []
    for (const row of rows) {
      const step = batch.readStep(row.slot, row.tokens, row.draw ?? undrawn)
      await session.write({ ...step.feeds, ...this.#tables }, step.outputs)
      batch.setLength(row.slot, (batch.lengths[row.slot] as number) + row.tokens.length)
      if (row.draw === undefined) continue
      tokens.push(step.token.data[0] as number)
      probabilities.push(step.probability.data[0] as number)
    }
    return { tokens: Int32Array.from(tokens), probabilities: Float32Array.from(probabilities) }
  }

  /** @returns `token` and `probability` [drawn, 1]; new keys and values by row */
  #readTogether(
    batch: Batch,
    rows: readonly PrefillRow[],
    fresh: boolean,
    fed: FusedWeights,
  ): Promise<StepResults> {
    const longest = Math.max(...rows.map(({ tokens }) => tokens.length))
    const chunk = Math.ceil(longest / this.#chunkBlock) * this.#chunkBlock
    const tokenCount = rows.reduce((sum, { tokens }) => sum + tokens.length, 0)
    // Tokens and draws beyond the real ones are computed and not used.
    const count = Math.max(fewestRows, tokenCount)
    const drawing = rows.filter(({ draw }) => draw !== undefined)
    const drawn = Math.max(fewestRows, drawing.length)
    const ids = int64Cells(count)
    const positions = int64Cells(count)
    const compact = int64Cells(count)
    const expand = int64Cells(rows.length * chunk)
    const selected = int64Cells(drawn)
    const inverseTemperatures = new Float32Array(drawn).fill(1)
    const uniforms = new Float32Array(drawn)
    const greedy = new Uint8Array(drawn)
    let at = 0
    let draws = 0
    for (const [row, { slot, tokens, draw }] of rows.entries()) {
      const start = batch.lengths[slot] as number
      for (let i = 0; i < tokens.length; i++, at++) {
        ids.low[2 * at] = tokens[i] as number
        positions.low[2 * at] = start + i
        compact.low[2 * at] = row * chunk + i
        expand.low[2 * (row * chunk + i)] = at
      }
      if (draw === undefined) continue
      selected.low[2 * draws] = at - 1
      inverseTemperatures[draws] = draw.inverseTemperature
      uniforms[draws] = draw.uniform
      greedy[draws++] = draw.greedy ? 1 : 0
    }
    const feeds: Feeds = {
      ids: tensor('int64', ids.data, [count]),
      positions: tensor('int64', positions.data, [1, count]),
      expand: tensor('int64', expand.data, [rows.length, chunk]),
      compact: tensor('int64', compact.data, [count]),
      causal: causalMask(this.architecture, chunk),
      selected: tensor('int64', selected.data, [drawn]),
      inverse_temperature: tensor('float32', inverseTemperatures, [drawn, 1]),
      uniform: tensor('float32', uniforms, [drawn, 1]),
      greedy: tensor('bool', greedy, [drawn, 1]),
    }
    if (!fresh) {
      const { capacity } = batch
      const mask = new Float32Array(rows.length * capacity)
      const slots = int64Cells(rows.length)
      for (const [row, { slot }] of rows.entries()) {
        slots.low[2 * row] = slot
        mask.fill(maskedScore, row * capacity + (batch.lengths[slot] as number), (row + 1) * capacity)
      }
      feeds.slots = tensor('int64', slots.data, [rows.length])
      feeds.mask = tensor('float32', mask, [rows.length, 1, 1, capacity])
      feeds.widths = tensor('int64', BigInt64Array.of(BigInt(capacity), BigInt(chunk)), [2])
      batch.addPast(feeds)
    }
    const { fresh: first, prefill: later } = this.#sessions as Sessions
    return (fresh ? first : later).run({ ...feeds, ...this.#tables, ...fed })
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#sessions ?? {}).map((session) => session.release()))
  }
}

/** Threads on which a row's sums must not depend on other rows. */
function exactThreads({
  threads,
  exact = true,
}: {
  readonly threads: number
  readonly exact?: boolean
}): number {
  return exact ? threads : 1
}

function weightBytes(policy: Architecture): number {
  const count = weightSpecs(policy).reduce((sum, { shape }) => sum + elementCount(shape), 0)
  return count * Float32Array.BYTES_PER_ELEMENT
}

/** The policy's rotations for heads of `wide` places, of which those that it has not stay as they are. */
function tablesOf(policy: Architecture, wide: number, positions: number): Tables {
  const { cosines, sines } = rotaryTables(policy, positions)
  const [from, half] = [policy.head_dim / 2, wide / 2]
  const cos = new Float32Array(positions * half).fill(1)
  const sin = new Float32Array(positions * half)
  for (let position = 0; position < positions; position++) {
    cos.set(cosines.subarray(position * from, (position + 1) * from), position * half)
    sin.set(sines.subarray(position * from, (position + 1) * from), position * half)
  }
  return { cos: tensor('float32', cos, [positions, half]), sin: tensor('float32', sin, [positions, half]) }
}

/** [1, 1, group·chunk, chunk]: a token sees those of its chunk up to itself. */
function causalMask(a: Architecture, chunk: number): Tensor {
  const group = a.num_attention_heads / a.num_key_value_heads
  const mask = new Float32Array(group * chunk * chunk)
  for (let row = 0; row < group * chunk; row++)
    mask.fill(maskedScore, row * chunk + (row % chunk) + 1, (row + 1) * chunk)
  return tensor('float32', mask, [1, 1, group * chunk, chunk])
}
