import { describe, expect, it } from 'vitest'
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { SampledTokens, SamplingRequest } from '../engines/engine.ts'
import type { Architecture, Weights } from '../transformer/architecture.ts'
import { plainLogits } from '../transformer/plain-decoder.testing.ts'
import { randomWeights } from './random-weights.testing.ts'
import { type Ending, Sampler } from './sampler.ts'

const grouped: Architecture = {
  vocab_size: 96,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 512,
}
const untied: Architecture = { ...grouped, num_key_value_heads: 4, tie_word_embeddings: false }
const small: Architecture = {
  ...grouped,
  hidden_size: 128,
  intermediate_size: 384,
  num_key_value_heads: 4,
  head_dim: 32,
}
const contextLength = 512

function weightsOf(a: Architecture, seed: number): Weights {
  return randomWeights(a, uniforms(seed))
}

async function samplerWith(
  a: Architecture,
  versions: readonly number[],
  { maxBatch = 4, threads = 1, exact = true, mostStored = 2 ** 20 } = {},
): Promise<Sampler> {
  const sampler = new Sampler({ threads, maxBatch, contextLength, cacheBytes: 2 ** 29, exact, mostStored })
  for (const version of versions) await sampler.load(version, a, weightsOf(a, version))
  return sampler
}

function request(n: number, change: Partial<SamplingRequest> = {}): SamplingRequest {
  const draw = uniforms(seedOf(7, n))
  const length = change.context?.length ?? 3 + Math.floor(draw() * 60)
  return {
    cacheKey: `episode-${n}`,
    context: Int32Array.from({ length }, () => Math.floor(draw() * grouped.vocab_size)),
    borders: [],
    version: 1,
    maxNewTokens: 3 + Math.floor(draw() * 12),
    temperature: 0.8,
    stopTokens: [5],
    seed: seedOf(1, n),
    ...change,
  }
}

async function finish(sampler: Sampler): Promise<Map<number, Ending>> {
  const endings = new Map<number, Ending>()
  while (sampler.busy) for (const ending of await sampler.step()) endings.set(ending.id, ending)
  return endings
}

async function sampleAll(sampler: Sampler, requests: readonly SamplingRequest[]): Promise<SampledTokens[]> {
  for (const [id, each] of requests.entries()) sampler.submit(id, each)
  const endings = await finish(sampler)
  return requests.map((_, id) => {
    const ending = endings.get(id)
    if (ending === undefined || !('result' in ending))
      throw new Error(`request ${id} did not end with a result`)
    return ending.result
  })
}

/** Checks a result token by token against plain arithmetic: its logprobs, and the very draw. */
function expectPlain(a: Architecture, weights: Weights, asked: SamplingRequest, got: SampledTokens): void {
  const precise = new Map([...weights].map(([name, data]) => [name, Float64Array.from(data)]))
  const logits = plainLogits(a, precise, [...asked.context, ...got.tokens])
  const next = uniforms(asked.seed)
  for (const [k, token] of got.tokens.entries()) {
    const scaled = logits[asked.context.length - 1 + k]?.map((x) => x / (asked.temperature || 1)) ?? []
    const powers = [...scaled].map(Math.exp)
    const total = powers.reduce((sum, power) => sum + power, 0)
    const probability = (powers[token] as number) / total
    expect(Math.abs((got.logprobs[k] as number) - Math.log(probability))).toBeLessThan(1e-4)
    const uniform = next()
    if (asked.temperature === 0) expect(probability * total).toBeCloseTo(Math.max(...powers), 4)
    else {
      const before = powers.slice(0, token).reduce((sum, power) => sum + power, 0) / total
      expect(uniform).toBeGreaterThan(before - 1e-5)
      expect(uniform).toBeLessThan(before + probability + 1e-5)
    }
  }
}

describe.each([
  ['grouped heads, tied head', grouped, 2 ** 20],
  ['one key per head, own head', untied, 2 ** 20],
  ['grouped heads, tied head, weights fed', grouped, 0],
  ['one key per head, own head, weights fed', untied, 0],
])('a sampler of %s', (_, a, mostStored) => {
  it('draws the tokens that a plain forward pass and the seed’s uniforms name, with its logprobs', async () => {
    const sampler = await samplerWith(a, [1], { mostStored })
    const requests = [
      request(0),
      request(1, { temperature: 1.3 }),
      request(2, { temperature: 0 }),
      request(3, { context: Int32Array.of(9) }),
      request(4, { context: new Int32Array(290).fill(3), maxNewTokens: 4 }),
      request(5),
      request(6),
    ]
    const results = await sampleAll(sampler, requests)
    for (const [i, result] of results.entries())
      expectPlain(a, weightsOf(a, 1), requests[i] as SamplingRequest, result)
    await sampler.close()
  })
})

describe('a sampler', () => {
  it.each([
    ['grouped heads, one thread, weights fed', grouped, 1, 0],
    ['own heads, two threads', untied, 2],
    ['the size of a small policy, two threads, weights fed', small, 2, 0],
    ['the size of a small policy, two threads', small, 2],
  ])(
    'gives the same bytes alone, among many of two versions and with nothing cached, turn by turn: %s',
    async (_, a, threads, mostStored = 2 ** 22) => {
      const crowd = await samplerWith(a, [1, 2], { maxBatch: 16, threads, mostStored })
      const alone = await samplerWith(a, [1, 2], { maxBatch: 1, threads, mostStored })
      let contexts = Array.from({ length: 18 }, (_, n) => request(n).context)
      const borders: number[][] = contexts.map(() => [])
      for (let turn = 0; turn < 3; turn++) {
        const requests = contexts.map((context, n) =>
          request(100 * turn + n, {
            cacheKey: `${n}`,
            context,
            borders: [...(borders[n] ?? [])],
            version: 1 + (n % 2),
          }),
        )
        const together = await sampleAll(crowd, requests)
        for (const [n, asked] of requests.entries()) {
          expect(await sampleAll(alone, [asked])).toEqual([together[n]])
          const uncached = { ...asked, cacheKey: `${n} for the first time in turn ${turn}` }
          expect(await sampleAll(alone, [uncached])).toEqual([together[n]])
          borders[n]?.push(asked.context.length)
        }
        contexts = contexts.map((context, n) =>
          Int32Array.from([...context, ...(together[n]?.tokens ?? []), ...request(50 * turn + n).context]),
        )
      }
      expect(alone.statistics.reusedTokens).toBe(crowd.statistics.reusedTokens)
      expect(crowd.statistics.reusedTokens).toBeGreaterThan(0)
      await Promise.all([crowd.close(), alone.close()])
    },
  )

  it('prefills more tokens in one step than a context may have', async () => {
    const sampler = await samplerWith(grouped, [1], { maxBatch: 32, exact: false })
    const requests = Array.from({ length: 32 }, (_, n) => request(n, { context: new Int32Array(30).fill(n) }))
    const results = await sampleAll(sampler, requests)
    expect(sampler.statistics.prefilledTokens).toBeGreaterThan(contextLength)
    expect(results).toHaveLength(32)
    await sampler.close()
  })

  it('reuses a context from turn to turn, prefills only what is new, and changes no result by it', async () => {
    const sampler = await samplerWith(grouped, [1], { exact: false })
    const weights = weightsOf(grouped, 1)
    let context = request(0).context
    for (let turn = 0; turn < 12; turn++) {
      const before = sampler.statistics
      const asked = request(turn, { cacheKey: 'one', context, stopTokens: [] })
      const [result] = await sampleAll(sampler, [asked])
      expectPlain(grouped, weights, asked, result as SampledTokens)
      const after = sampler.statistics
      if (turn > 0) {
        // All but the last sampled token and the 14 observed ones were fed a turn ago.
        expect(after.prefilledTokens - before.prefilledTokens).toBe(15)
        expect(after.reusedTokens - before.reusedTokens).toBe(context.length - 15)
      }
      const observed = request(turn + 100, { context: new Int32Array(14) }).context
      context = Int32Array.from([
        ...context,
        ...(result as SampledTokens).tokens,
        ...observed.map((_, i) => 10 + i),
      ])
    }
    expect(context.length).toBeGreaterThan(256) // the context outgrew its batch's capacity on the way
    await sampler.close()
  })

  it('decodes at once when only the last token is unread, and draws the same as after reading everything', async () => {
    const weights = weightsOf(grouped, 1)
    const sampler = await samplerWith(grouped, [1], { exact: false })
    const asked = Array.from({ length: 3 }, (_, n) => request(n, { stopTokens: [] }))
    await sampleAll(sampler, asked)
    const before = sampler.statistics
    for (const [n, result] of (await sampleAll(sampler, asked)).entries())
      expectPlain(grouped, weights, asked[n] as SamplingRequest, result)
    const { prefilledTokens, sampledTokens } = sampler.statistics
    expect(prefilledTokens - before.prefilledTokens).toBe(3)
    expect(sampledTokens - before.sampledTokens).toBe(
      asked.reduce((sum, { maxNewTokens }) => sum + maxNewTokens, 0),
    )
    await sampler.close()
  })

  it('takes over nothing of another key or version, only of its own', async () => {
    const sampler = await samplerWith(grouped, [1, 2], { exact: false })
    const context = request(1, { context: new Int32Array(40) }).context
    await sampleAll(sampler, [request(1, { context })])
    await sampleAll(sampler, [request(1, { context, version: 2 })])
    await sampleAll(sampler, [request(2, { context })])
    expect(sampler.statistics.reusedTokens).toBe(0)
    await sampleAll(sampler, [request(1, { context })])
    expect(sampler.statistics.reusedTokens).toBe(39)
    await sampler.close()
  })

  it('does not change a result when a cache is dropped or its budget is too small for any', async () => {
    const asked = request(1, { context: new Int32Array(50).fill(4) })
    const sampler = await samplerWith(grouped, [1])
    const [first] = await sampleAll(sampler, [asked])
    await sampler.release(asked.cacheKey)
    const [second] = await sampleAll(sampler, [asked])
    expect(sampler.statistics.reusedTokens).toBe(0)
    const tight = new Sampler({ threads: 1, maxBatch: 2, contextLength, cacheBytes: 1000 })
    await tight.load(1, grouped, weightsOf(grouped, 1))
    const [third] = await sampleAll(tight, [asked])
    expect([second, third]).toEqual([first, first])
    await Promise.all([sampler.close(), tight.close()])
  })

  it('ends every request once: with tokens, with a fault, or silently when cancelled', async () => {
    const sampler = await samplerWith(grouped, [1, 2])
    for (let id = 0; id < 12; id++) sampler.submit(id, request(id, { version: 1 + (id % 2), stopTokens: [] }))
    sampler.cancel(0)
    await sampler.step()
    sampler.cancel(2)
    sampler.cancel(10)
    await sampler.step()
    sampler.unload(2)
    const endings = await finish(sampler)
    expect([...endings.keys()].sort((left, right) => left - right)).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 11])
    for (const [id, ending] of endings) {
      if (id % 2 === 0) expect(ending).toHaveProperty('result.finish', 'length')
      else expect(ending).toHaveProperty('fault.kind', 'version_not_loaded')
    }
    expect(sampler.statistics).toMatchObject({ waiting: 0, running: 0 })
    await sampler.close()
  })

  it('stops at the context length, and refuses a context that leaves no room or holds foreign tokens', async () => {
    const sampler = await samplerWith(grouped, [1])
    const context = new Int32Array(contextLength - 3).fill(2)
    const [result] = await sampleAll(sampler, [request(1, { context, maxNewTokens: 50, stopTokens: [] })])
    expect(result?.tokens.length).toBe(3)
    expect(result?.finish).toBe('length')
    const refuse = (change: Partial<SamplingRequest>, kind: string): void =>
      expect(() => sampler.submit(9, request(1, change))).toThrow(expect.objectContaining({ kind }))
    refuse({ context: new Int32Array(contextLength) }, 'context_too_long')
    refuse({ context: Int32Array.of(1, 96) }, 'backend')
    refuse({ context: new Int32Array(0) }, 'backend')
    refuse({ version: 4 }, 'version_not_loaded')
    expect(sampler.busy).toBe(false)
    await sampler.close()
  })

  it('never draws a token of probability zero', async () => {
    const sampler = await samplerWith(grouped, [1])
    // At this temperature nearly all tokens underflow to zero, also the last one, where rounding would end.
    const requests = Array.from({ length: 40 }, (_, n) => request(n, { temperature: 0.002 }))
    for (const { logprobs } of await sampleAll(sampler, requests))
      expect(logprobs.every((logprob) => Number.isFinite(logprob) && logprob <= 0)).toBe(true)
    await sampler.close()
  })

  it('gives no influence to what an earlier request left in a slot', async () => {
    const used = await samplerWith(grouped, [1], { maxBatch: 1 })
    const unused = await samplerWith(grouped, [1], { maxBatch: 1 })
    await sampleAll(used, [request(1, { context: new Int32Array(110), stopTokens: [] })])
    const asked = request(2, { context: Int32Array.of(80, 81, 82) })
    expect(await sampleAll(used, [asked])).toEqual(await sampleAll(unused, [asked]))
    expect(used.statistics.reusedTokens).toBe(0)
    await Promise.all([used.close(), unused.close()])
  })
})
