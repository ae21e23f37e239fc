/**
 * Tokens and turns per second of the embedded engine, beside the machine's GEMM peak.
 *
 * Invariants
 * - The reference is measured in the same run: the tokens per second at which the policy's products
 *   alone, at the peak of large products, would keep all threads busy.
 * - Requests go through the engine as a run's do, answers to and from its threads included. Exact turns are those
 *   of a synchronous run, the others of an asynchronous one.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seedOf, uniforms } from '../identity/identity.ts'
import { publishCheckpoint } from '../policy/checkpoints/checkpoint.ts'
import { createEmbeddedEngine } from '../policy/embedded-engine/embedded.ts'
import type { Engine, SamplingRequest } from '../policy/engines/engine.ts'
import type { Architecture } from '../policy/transformer/architecture.ts'
import { initialWeights } from '../policy/transformer/initialization.ts'
import type { Figure } from './figure.ts'
import { gemmPeak } from './gemm-peak.ts'
import { shapes } from './shapes.ts'

const threads = 2
const rows = 32
const { d128, d256 } = shapes
const contextLength = d128.max_position_embeddings

/** Floating-point operations of one token's products with `context` tokens before it. */
function operationsPerToken(a: Architecture, context: number): number {
  const query = a.num_attention_heads * a.head_dim
  const keyValue = a.num_key_value_heads * a.head_dim
  const layer =
    a.hidden_size * (2 * query + 2 * keyValue) + 3 * a.hidden_size * a.intermediate_size + 2 * context * query
  return 2 * (a.num_hidden_layers * layer + a.vocab_size * a.hidden_size)
}

/** A context of `length` tokens; no two alike. */
function contextOf(a: Architecture, length: number, n: number): Int32Array {
  const draw = uniforms(seedOf(1, 'context', n))
  return Int32Array.from({ length }, () => Math.floor(draw() * a.vocab_size))
}

function request(
  n: number,
  context: Int32Array,
  maxNewTokens: number,
  borders: readonly number[] = [],
): SamplingRequest {
  return {
    cacheKey: `${n}`,
    context,
    borders,
    version: 0,
    maxNewTokens,
    temperature: 0.8,
    stopTokens: [],
    seed: seedOf(2, n),
  }
}

/** An engine with the policy loaded. */
async function withEngine<Result>(
  a: Architecture,
  exact: boolean,
  use: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  const home = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const engine = await createEmbeddedEngine({ threads, maxBatch: rows, contextLength, exact })
  try {
    await publishCheckpoint(join(home, '0'), {
      architecture: a,
      weights: initialWeights(a, 1),
      tokenizer: '{}',
      state: { version: 0, step: 0, chat: 'compact', facts: {} },
    })
    await engine.load(0, join(home, '0'))
    return await use(engine)
  } finally {
    await engine.close()
    await rm(home, { recursive: true, force: true })
  }
}

interface Speeds {
  /** Tokens per second from token 1 of a context on. */
  readonly prefill: number
  /** Tokens per second of 32-token observations after 192 tokens. */
  readonly observe: number
  /** Tokens per second with 32 rows around a context of 256. */
  readonly decode: number
}

/**
 * Rates of the best of `rounds` rounds of 32 contexts: 192 fresh tokens, 32 observed, 64 decoded. The
 * best, because the peak is that of the best product, and other processes only ever slow a round.
 */
async function measure(a: Architecture, rounds: number): Promise<Speeds> {
  return await withEngine(a, false, async (engine) => {
    const best = { prefill: 0, observe: 0, decode: 0 }
    for (let round = -1; round < rounds; round++) {
      /** Asks for all rows at once. @returns seconds until the last has its tokens */
      const time = async (length: number, newTokens: number): Promise<number> => {
        const asked = Array.from({ length: rows }, (_, row) => {
          const n = (round + 1) * rows + row
          return request(n, contextOf(a, length, n), newTokens)
        })
        const startedAt = performance.now()
        await Promise.all(asked.map((each) => engine.sample(each)))
        return (performance.now() - startedAt) / 1000
      }
      const prefill = (rows * 192) / (await time(192, 1))
      const observe = (rows * 32) / (await time(224, 1))
      const decode = (rows * 64) / (await time(225, 64))
      if (round < 0) continue // the first round warms up
      best.prefill = Math.max(best.prefill, prefill)
      best.observe = Math.max(best.observe, observe)
      best.decode = Math.max(best.decode, decode)
    }
    return best
  })
}

/** Turns per second: observations of 30 tokens, actions of 8, contexts of 100 to 400. */
async function measureTurns(
  a: Architecture,
  { episodes, turns, exact }: { readonly episodes: number; readonly turns: number; readonly exact: boolean },
): Promise<number> {
  return await withEngine(a, exact, async (engine) => {
    let left = 0
    const episode = async (n: number): Promise<void> => {
      for (let generation = 0; left > 0; generation++) {
        const key = n + episodes * generation
        const all = contextOf(a, 400, key)
        let length = 100 + ((n * 37) % 38) // episodes are not in step
        const context = all.slice()
        const borders: number[] = []
        for (; length <= 392 && left > 0; length += 38) {
          left--
          const asked = request(key, context.subarray(0, length), 8, [...borders])
          const { tokens } = await engine.sample(asked)
          context.set(tokens, length)
          borders.push(length)
        }
        engine.release(`${key}`)
      }
    }
    const play = async (count: number): Promise<number> => {
      left = count
      const startedAt = performance.now()
      await Promise.all(Array.from({ length: episodes }, (_, n) => episode(n)))
      return count / ((performance.now() - startedAt) / 1000)
    }
    await play(episodes)
    return await play(turns)
  })
}

/** Runs the benchmark, about 30 seconds. */
export async function bench(): Promise<Figure[]> {
  const peak = await gemmPeak(threads)
  const figures: Figure[] = [{ name: 'gemm peak', value: peak, unit: 'GF/s' }]
  const add = (name: string, value: number, a: Architecture, context: number): void => {
    const reference = (peak * 1e9) / operationsPerToken(a, context)
    figures.push({ name, value, unit: 'tokens/s', reference, ratio: value / reference })
  }
  const small = await measure(d128, 5)
  add('d128', small.decode, d128, 256)
  add('prefill d128', small.prefill, d128, 96)
  add('observe d128', small.observe, d128, 208)
  const large = await measure(d256, 3)
  add('d256', large.decode, d256, 256)
  add('prefill d256', large.prefill, d256, 96)
  const load = { episodes: 96, turns: 2000 }
  const reference = await measureTurns(d128, { ...load, exact: false })
  const value = await measureTurns(d128, { ...load, exact: true })
  figures.push({ name: 'turns d128', value: reference, unit: 'turns/s' })
  // A synchronous run pays this for being the same to the byte.
  figures.push({ name: 'exact turns d128', value, unit: 'turns/s', reference, ratio: value / reference })
  return figures
}
