/**
 * Inference sessions of the training graphs of one thread, and their runs.
 *
 * Invariants
 * - An inference session is made once per architecture and kind, and serves every version of the policy.
 */
import { createInferenceSession, type InferenceSession, type Tensor, tensor } from '../../graph/runtime.ts'
import { type Architecture, type Weights, weightSpecs } from '../../transformer/architecture.ts'
import { causalLimits } from '../../transformer/attention.ts'
import { microBatchGraph, sumName } from '../../transformer/micro-batch-graph.ts'
import type { GraphKind } from '../../transformer/objective-graph.ts'
import { rotaryTables } from '../../transformer/rope.ts'
import type { MicroBatch } from '../update/micro-batch.ts'
import { type Gradients, keepGradients } from './gradient-sum.ts'

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

/** The results of one run: one number per counted token, in the micro-batch's order. */
export interface TokenResults {
  readonly logprobs: Float32Array
  readonly entropy: Float32Array
  /** [rows, width] of the kind `hidden`, which has nothing else. */
  readonly hidden?: Float32Array
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

/** Tokens of a run at most, unless one micro-batch has more: it answers after about a second. */
const runLimit = 6144

/** Micro-batches of each run, in their order. */
export function runsOf(works: readonly GraphWork[]): readonly (readonly GraphWork[])[] {
  const runs: GraphWork[][] = []
  let held = Number.POSITIVE_INFINITY
  for (const work of works) {
    const { length } = work.micro.tokens
    if (held + length > runLimit) {
      runs.push([])
      held = 0
    }
    runs.at(-1)?.push(work)
    held += length
  }
  return runs
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
  readonly #tables = new Map<
    string,
    { readonly time: number; readonly feeds: Readonly<Record<string, Tensor>> }
  >()

  /** @param threads of one run; another count may change results in their last bits */
  constructor(threads: number) {
    this.#threads = threads
  }

  /**
   * Runs micro-batches, one after the other.
   * @param works of which each has the same kinds of vectors and the same numbers
   * @param sums where gradients are added; must be given exactly for kinds that have some
   * @throws RuntimeFault
   */
  async run(
    architecture: Architecture,
    kind: GraphKind,
    weights: WeightFeeds,
    works: readonly GraphWork[],
    sums?: Gradients,
  ): Promise<readonly TokenResults[]> {
    const session = await this.session(architecture, kind)
    const begun = sums === undefined ? [] : weightSpecs(architecture)
    const feeds: Record<string, Tensor> = {
      ...weights,
      ...microBatchFeeds(works),
      ...this.#positions(architecture, Math.max(...works.map(({ micro }) => micro.time))),
    }
    for (const { name, shape } of begun)
      feeds[sumName(name)] = tensor('float32', sums?.get(name) as Float32Array, shape)
    const results = await session.run(feeds)
    if (sums !== undefined) keepGradients(sums, results, feeds.tokens as Tensor<'int64'>)
    if (kind === 'hidden') return hiddenOf(results, works, architecture.hidden_size)
    const logprobs = (results.logprobs as Tensor<'float32'>).data
    const entropy = (results.entropy as Tensor<'float32'>).data
    let begin = 0
    return works.map(({ micro }) => {
      const end = begin + micro.rows.length
      const found = { logprobs: logprobs.slice(begin, end), entropy: entropy.slice(begin, end) }
      begin = end
      return found
    })
  }

  /** The inference session of a kind of graph, made at its first use. */
  session(architecture: Architecture, kind: GraphKind): Promise<InferenceSession> {
    const key = `${kind} ${JSON.stringify(architecture)}`
    let session = this.#sessions.get(key)
    if (session === undefined) {
      session = createInferenceSession(microBatchGraph(architecture, kind, attentionBlocks), {
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

  /** The tables and the mask for positions up to a time, rebuilt where a longer one comes. */
  #positions(architecture: Architecture, time: number): Readonly<Record<string, Tensor>> {
    const { head_dim, rope_theta, rope_scaling } = architecture
    const key = JSON.stringify([head_dim, rope_theta, rope_scaling])
    const known = this.#tables.get(key)
    if (known !== undefined && known.time >= time) return known.feeds
    const { cosines, sines, negativeSines } = rotaryTables(architecture, time)
    const dims = [time, head_dim / 2]
    const feeds = {
      cosines: tensor('float32', cosines, dims),
      sines: tensor('float32', sines, dims),
      negative_sines: tensor('float32', negativeSines, dims),
      mask: tensor('float32', causalLimits(time), [time, time]),
    }
    this.#tables.set(key, { time, feeds })
    return feeds
  }
}

/** The hidden states of each micro-batch. */
function hiddenOf(
  results: Readonly<Record<string, Tensor>>,
  works: readonly GraphWork[],
  width: number,
): readonly TokenResults[] {
  const { data } = results.hidden as Tensor<'float32'>
  const none = new Float32Array()
  let begin = 0
  return works.map(({ micro }) => {
    begin += micro.rows.length * width
    return { logprobs: none, entropy: none, hidden: data.slice(begin - micro.rows.length * width, begin) }
  })
}

/** The inputs of micro-batches, joined as `microBatchGraph` takes them. */
function microBatchFeeds(works: readonly GraphWork[]): Record<string, Tensor> {
  const micros = works.map(({ micro }) => micro)
  const int64 = (parts: readonly BigInt64Array[]): Tensor => {
    const whole = joined(parts, (length) => new BigInt64Array(length))
    return tensor('int64', whole, [whole.length])
  }
  const starts = (sizes: readonly number[]): Tensor => {
    const found = new BigInt64Array(sizes.length + 1)
    for (const [at, size] of sizes.entries()) found[at + 1] = (found[at] as bigint) + BigInt(size)
    return tensor('int64', found, [found.length])
  }
  const feeds: Record<string, Tensor> = {
    micro_batches: tensor('int64', BigInt64Array.of(BigInt(micros.length)), []),
    times: int64([BigInt64Array.from(micros, ({ time }) => BigInt(time))]),
    token_starts: starts(micros.map(({ tokens }) => tokens.length)),
    row_starts: starts(micros.map(({ rows }) => rows.length)),
    tokens: int64(micros.map(({ tokens }) => tokens)),
    rows: int64(micros.map(({ rows }) => rows)),
    targets: int64(micros.map(({ targets }) => targets)),
  }
  const [{ objective }] = works as readonly [GraphWork]
  for (const name of Object.keys(objective.vectors)) {
    const parts = works.map((work) => work.objective.vectors[name] as Float32Array)
    const whole = joined(parts, (length) => new Float32Array(length))
    feeds[name] = tensor('float32', whole, [whole.length])
  }
  for (const [name, number] of Object.entries(objective.numbers))
    feeds[name] = tensor('float32', Float32Array.of(number), [])
  return feeds
}

/** Arrays one after the other. */
function joined<Data extends Float32Array | BigInt64Array>(
  parts: readonly Data[],
  create: (length: number) => Data,
): Data {
  const whole = create(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part as never, at)
    at += part.length
  }
  return whole
}
