/**
 * An architecture ready to sample: its inference sessions and tables, shared by all versions.
 *
 * Invariants
 * - A new version needs no new inference session: weights are fed with every step.
 * - Where results must be exact, a row's result depends on its own inputs alone, to the bit: no step has a
 *   single row, and padding adds whole blocks of zeros to a sum, never another order of its terms.
 */
import { createInferenceSession, type InferenceSession, type Tensor, tensor } from '../graph/runtime.ts'
import type { Architecture, Weights } from '../transformer/architecture.ts'
import { buildDecodeGraph, buildPrefillGraph, cacheNames, maskedScore } from '../transformer/decode-graph.ts'
import { rotaryTables } from '../transformer/rope.ts'
import { type Batch, type Feeds, fewestRows, int64Cells } from './batch.ts'
import { type FusedWeights, fuseWeights } from './fused-weights.ts'

export type StepResults = Readonly<Record<string, Tensor>>

/** What a step drew, one place for each row that draws. */
export interface Draws {
  readonly tokens: Int32Array
  readonly probabilities: Float32Array
}

/** What a step drew. */
export function drawsOf(results: StepResults): Draws {
  return {
    tokens: results.token?.data as Int32Array,
    probabilities: results.probability?.data as Float32Array,
  }
}

/** One row of a prefill step. */
export interface PrefillRow {
  readonly slot: number
  /** Tokens fed from the slot's length on. */
  readonly tokens: Int32Array
  /** The draw after the last token; undefined where more chunks follow. */
  readonly draw?: { readonly inverseTemperature: number; readonly greedy: boolean; readonly uniform: number }
}

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

interface Sessions {
  readonly decode: InferenceSession
  /** Prefill after a past. */
  readonly prefill: InferenceSession
  /** Prefill of contexts from their first token on. */
  readonly fresh: InferenceSession
}

interface Tables {
  readonly cos: Tensor
  readonly sin: Tensor
}

export class SamplingModel {
  readonly architecture: Architecture
  /** Floats that one position takes: keys and values of all layers. */
  readonly floatsPerPosition: number
  readonly #sessions: Sessions
  readonly #tables: Tables
  /** Results of a decode step that hold keys and values of each layer in turn. */
  readonly #newRows: readonly string[]
  readonly #chunkBlock: number
  readonly #exactThreads: number

  private constructor(
    architecture: Architecture,
    sessions: Sessions,
    tables: Tables,
    exact: { readonly chunkBlock: number; readonly threads: number },
  ) {
    this.#chunkBlock = exact.chunkBlock
    this.#exactThreads = exact.threads
    this.architecture = architecture
    this.#sessions = sessions
    this.#tables = tables
    const { num_hidden_layers: layers, num_key_value_heads: heads, head_dim: headDim } = architecture
    this.floatsPerPosition = 2 * layers * heads * headDim
    this.#newRows = Array.from({ length: layers }, (_, layer) => cacheNames(layer)).flatMap(
      ({ newKey, newValue }) => [newKey, newValue],
    )
  }

  /** @throws RuntimeFault the runtime refuses the graphs */
  static async create(
    architecture: Architecture,
    options: {
      readonly threads: number
      readonly contextLength: number
      /** Tokens of all rows of a prefill step at most; the runtime wants a rotation for each, whatever their positions. */
      readonly prefillTokens: number
      /** Rows of a decode step at most. */
      readonly maxBatch: number
      readonly exact?: boolean
    },
  ): Promise<SamplingModel> {
    const { threads, contextLength, prefillTokens, maxBatch, exact = true } = options
    const session = { threads, spinMicroseconds }
    const exactThreads = exact ? threads : 1
    const [decode, prefill, fresh] = await Promise.all([
      createInferenceSession(
        buildDecodeGraph(architecture, exactThreads, threads === 1 ? maxBatch : undefined),
        session,
      ),
      createInferenceSession(buildPrefillGraph(architecture, exactThreads, true), session),
      createInferenceSession(buildPrefillGraph(architecture, exactThreads, false), session),
    ])
    const positions = Math.max(contextLength, prefillTokens)
    const { cosines, sines } = rotaryTables(architecture, positions)
    const dims = [positions, architecture.head_dim / 2]
    return new SamplingModel(
      architecture,
      { decode, prefill, fresh },
      { cos: tensor('float32', cosines, dims), sin: tensor('float32', sines, dims) },
      { chunkBlock: exact ? exactChunkBlock : 1, threads: exactThreads },
    )
  }

  /** A version's weights as the inference sessions read them. @throws RangeError weights that do not fit the architecture */
  fuse(weights: Weights): FusedWeights {
    return fuseWeights(this.architecture, weights, this.#exactThreads)
  }

  /**
   * One decode step over the first `width` slots.
   * @returns what each of them drew, and the rows that `Batch.appendDecoded` takes
   */
  async decode(
    batch: Batch,
    width: number,
    weights: FusedWeights,
  ): Promise<Draws & { readonly rows: readonly Float32Array[] }> {
    const feeds = { ...batch.decodeFeeds(width), ...this.#tables, ...weights }
    const results = await this.#sessions.decode.run(feeds)
    const rows = this.#newRows.map((name) => results[name]?.data as Float32Array)
    return { ...drawsOf(results), rows }
  }

  /**
   * One prefill step; all rows are fresh or none is.
   * @returns `token` and `probability` [drawn, 1], one for each row with a draw, in order; new keys and values by row
   */
  prefill(
    batch: Batch,
    rows: readonly PrefillRow[],
    fresh: boolean,
    weights: FusedWeights,
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
    const session = fresh ? this.#sessions.fresh : this.#sessions.prefill
    return session.run({ ...feeds, ...this.#tables, ...weights })
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#sessions).map((session) => session.release()))
  }
}

/** [1, 1, group·chunk, chunk]: a token sees those of its chunk up to itself. */
function causalMask(a: Architecture, chunk: number): Tensor {
  const group = a.num_attention_heads / a.num_key_value_heads
  const mask = new Float32Array(group * chunk * chunk)
  for (let row = 0; row < group * chunk; row++)
    mask.fill(maskedScore, row * chunk + (row % chunk) + 1, (row + 1) * chunk)
  return tensor('float32', mask, [1, 1, group * chunk, chunk])
}
