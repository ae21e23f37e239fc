import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { createEmbeddedEngine } from './embedded.ts'
import type { Engine, SamplingRequest } from './engine.ts'
import { createScriptedEngine } from './scripted.testing.ts'

const architecture: Architecture = {
  vocab_size: 64,
  hidden_size: 16,
  intermediate_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  head_dim: 8,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 256,
}
const contextLength = 256

let root: string
const dirOf = (version: number): string => join(root, String(version))

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'engine-contract-'))
  for (const version of [0, 1, 2])
    await publishCheckpoint(dirOf(version), {
      architecture,
      weights: randomWeights(architecture, uniforms(version)),
      tokenizer: '{}',
      state: { version, step: version, chat: 'compact', facts: {} },
    })
})
afterAll(() => rm(root, { recursive: true, force: true }))

function request(change: Partial<SamplingRequest> = {}): SamplingRequest {
  return {
    cacheKey: 'episode',
    borders: [],
    context: Int32Array.of(1, 2, 3),
    version: 0,
    maxNewTokens: 8,
    temperature: 1,
    stopTokens: [],
    seed: 11,
    ...change,
  }
}

const embeddedOf = (threads: number) => (): Promise<Engine> =>
  createEmbeddedEngine({ threads, maxBatch: 16, contextLength })
const embedded = embeddedOf(1)
const scripted = async (): Promise<Engine> =>
  createScriptedEngine(({ seed }) => Array.from({ length: 60 }, (_, i) => (i * 7 + seed) % 64), {
    contextLength,
  })

describe.each([
  ['embedded', embedded],
  ['three-threaded embedded', embeddedOf(3)],
  ['scripted', scripted],
])('the %s engine', (_, create) => {
  let engine: Engine
  beforeEach(async () => {
    engine = await create()
    await engine.load(0, dirOf(0))
  })
  afterEach(() => engine.close())

  it('returns as many tokens as asked, each with a logprob, under the version asked for', async () => {
    const result = await engine.sample(request())
    expect(result.tokens.length).toBe(8)
    expect(result.logprobs.length).toBe(8)
    expect(result.logprobs.every((logprob) => logprob < 0)).toBe(true)
    expect(result).toMatchObject({ version: 0, finish: 'length' })
  })

  it('ends with the first stop token, which is part of the result', async () => {
    const free = await engine.sample(request())
    const stop = free.tokens[3] as number
    const result = await engine.sample(request({ stopTokens: [stop] }))
    const end = free.tokens.indexOf(stop) + 1
    expect(result.tokens).toEqual(free.tokens.slice(0, end))
    expect(result.finish).toBe('stop')
  })

  it('gives the same result for the same request, and leaves its context untouched', async () => {
    const context = Int32Array.of(9, 8, 7, 6, 5).subarray(1)
    const first = await engine.sample(request({ context }))
    const again = await engine.sample(request({ context }))
    expect(again.tokens).toEqual(first.tokens)
    expect([...context]).toEqual([8, 7, 6, 5])
  })

  it('answers several hundred requests of several versions in flight at once', async () => {
    await Promise.all([engine.load(1, dirOf(1)), engine.load(2, dirOf(2))])
    const all = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        engine.sample(request({ cacheKey: `episode-${n}`, version: n % 3, seed: n, maxNewTokens: 4 })),
      ),
    )
    expect(all.map(({ version }) => version)).toEqual(Array.from({ length: 300 }, (_, n) => n % 3))
    expect(all.every(({ tokens }) => tokens.length === 4)).toBe(true)
    expect(await engine.statistics()).toMatchObject({ sampledTokens: 1200, waiting: 0, running: 0 })
  })

  it('knows its versions: loading twice does nothing, unloading forgets, what is not loaded is refused', async () => {
    await Promise.all([engine.load(2, dirOf(2)), engine.load(2, dirOf(2)), engine.load(1, dirOf(1))])
    expect(engine.versions).toEqual([0, 1, 2])
    await engine.unload(1)
    await engine.unload(1)
    expect(engine.versions).toEqual([0, 2])
    await expect(engine.sample(request({ version: 1 }))).rejects.toMatchObject({ kind: 'version_not_loaded' })
    await engine.load(1, dirOf(1))
    expect((await engine.sample(request({ version: 1 }))).version).toBe(1)
  })

  it('refuses a context that leaves no room', async () => {
    const context = new Int32Array(contextLength)
    await expect(engine.sample(request({ context }))).rejects.toMatchObject({
      kind: 'context_too_long',
      permanent: true,
    })
  })

  it('ends a cancelled request with the reason given, and serves the others', async () => {
    const controller = new AbortController()
    const cancelled = engine.sample(request({ maxNewTokens: 50 }), controller.signal)
    const kept = engine.sample(request({ cacheKey: 'other' }))
    controller.abort(new Error('no longer wanted'))
    await expect(cancelled).rejects.toThrow('no longer wanted')
    expect((await kept).tokens.length).toBe(8)
    await expect(engine.sample(request(), controller.signal)).rejects.toThrow('no longer wanted')
  })

  it('gives the same result after its caches were dropped', async () => {
    const first = await engine.sample(request())
    engine.release('episode')
    expect((await engine.sample(request())).tokens).toEqual(first.tokens)
  })

  it('refuses everything after it was closed, twice if need be', async () => {
    const pending = engine.sample(request())
    pending.catch(() => {})
    await engine.close()
    await engine.close()
    await expect(engine.sample(request())).rejects.toMatchObject({ kind: 'closed' })
    await expect(pending).rejects.toMatchObject({ kind: 'closed' })
    await expect(engine.statistics()).rejects.toMatchObject({ kind: 'closed' })
  })
})

describe('the embedded engine', () => {
  it('fails what was in flight when its thread dies, and starts anew with its versions', async () => {
    const posts = vi.spyOn(Worker.prototype, 'postMessage')
    const engine = await embedded()
    await engine.load(0, dirOf(0))
    await engine.load(1, dirOf(1))
    const first = await engine.sample(request({ version: 1 }))
    const inFlight = engine.sample(request({ maxNewTokens: 200 }))
    inFlight.catch(() => {})
    const worker = posts.mock.contexts[0] as Worker
    posts.mockRestore()
    worker.postMessage('end')
    await once(worker, 'exit')
    await expect(inFlight).rejects.toMatchObject({ kind: 'crashed', permanent: false })
    const again = await engine.sample(request({ version: 1 }))
    expect(again.tokens).toEqual(first.tokens)
    expect(engine.versions).toEqual([0, 1])
    await engine.close()
  })

  it('names a checkpoint that it cannot load, and a token outside the vocabulary', async () => {
    const engine = await embedded()
    await expect(engine.load(9, dirOf(9))).rejects.toMatchObject({ name: 'CheckpointFault', kind: 'missing' })
    expect(engine.versions).toEqual([])
    await engine.load(0, dirOf(0))
    await expect(engine.sample(request({ context: Int32Array.of(3, 64) }))).rejects.toMatchObject({
      kind: 'backend',
      message: expect.stringContaining('token 64 at place 1'),
    })
    await engine.close()
  })

  /** The threads of an engine, in the order of their first message, with the calls of a method that each got. */
  function watchThreads(method: string): () => Map<Worker, number> {
    const posts = vi.spyOn(Worker.prototype, 'postMessage')
    onTestFinished(() => posts.mockRestore())
    return () => {
      const counts = new Map<Worker, number>()
      for (const [at, thread] of (posts.mock.contexts as Worker[]).entries()) {
        const [message] = posts.mock.calls[at] as [{ method?: string }]
        counts.set(thread, (counts.get(thread) ?? 0) + (message.method === method ? 1 : 0))
      }
      return counts
    }
  }

  it('sends keys that are new to the thread with the fewest requests', async () => {
    const threads = watchThreads('sample')
    const engine = await embeddedOf(3)()
    await engine.load(0, dirOf(0))
    await Promise.all(Array.from({ length: 12 }, (_, n) => engine.sample(request({ cacheKey: `${n}` }))))
    expect([...threads().values()]).toEqual([4, 4, 4])
    await engine.close()
  })

  it('sends requests of one key to one thread while it lives, whose cache serves them', async () => {
    const engine = await embeddedOf(3)()
    await engine.load(0, dirOf(0))
    const context = Int32Array.from({ length: 40 }, (_, n) => n)
    for (const length of [20, 30, 40]) {
      const borders = [20, 30].filter((border) => border < length)
      const asked = Array.from({ length: 5 }, (_, n) =>
        engine.sample(request({ cacheKey: `${n}`, context: context.subarray(0, length), borders })),
      )
      await Promise.all(asked)
    }
    expect(await engine.statistics()).toMatchObject({ reusedTokens: 5 * (20 + 30), prefilledTokens: 5 * 40 })
    await engine.close()
  })

  it('runs threads only for policies that are loaded, and one alone for weights that are held once', async () => {
    const threads = watchThreads('load')
    const engine = await createEmbeddedEngine({ threads: 3, maxBatch: 16, contextLength, heldByEach: 1000 })
    expect(threads().size).toBe(0)
    await engine.load(0, dirOf(0))
    await engine.load(1, dirOf(1))
    expect([...threads().values()]).toEqual([2])
    expect((await engine.sample(request({ version: 1 }))).tokens.length).toBe(8)
    await engine.close()
  })

  it('has a version when all its threads have it', async () => {
    const threads = watchThreads('load')
    const engine = await embeddedOf(2)()
    const moved = join(root, 'moved')
    await cp(dirOf(1), moved, { recursive: true })
    await engine.load(0, dirOf(0))
    await engine.load(1, moved)
    await rm(moved, { recursive: true })
    const [one] = threads().keys()
    await one?.terminate()
    await Promise.all(['a', 'b'].map((cacheKey) => engine.sample(request({ cacheKey }))))
    expect(engine.versions).toEqual([0])
    await engine.load(1, dirOf(1))
    expect(engine.versions).toEqual([0, 1])
    await engine.close()
  })
})
