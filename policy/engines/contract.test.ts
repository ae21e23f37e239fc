import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type LlamaServer, llamaServerMissing } from '../../test/peers/llama-server.ts'
import { engineOver, publishServed, startServed } from '../dialects/llama-engine.testing.ts'
import { createEmbeddedEngine } from '../embedded-engine/embedded.ts'
import { type Candidate, contextLength, keepsTheContract, request } from './contract.testing.ts'
import type { Engine } from './engine.ts'
import { createScriptedEngine } from './scripted.testing.ts'

let root: string
const dirOf = (version: number): string => join(root, String(version))

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'engine-contract-'))
  for (const version of [0, 1, 2]) await publishServed(dirOf(version), version)
})
afterAll(() => rm(root, { recursive: true, force: true }))

const embeddedOf = (threads: number) => (): Promise<Engine> =>
  createEmbeddedEngine({ threads, maxBatch: 16, contextLength })
const embedded = embeddedOf(1)
const scripted = async (): Promise<Engine> =>
  createScriptedEngine(({ seed }) => Array.from({ length: 60 }, (_, i) => (i * 7 + seed) % 64), {
    contextLength,
  })

const noLlama = llamaServerMissing()
let llamaServer: LlamaServer | undefined

/** llama.cpp's real server of version 0; one for all tests. */
async function llama(): Promise<Engine> {
  llamaServer ??= await startServed(root)
  return await engineOver(llamaServer.url)
}
afterAll(() => llamaServer?.close())

const candidates: readonly Candidate[] = [
  { name: 'embedded', create: embedded, dirOf },
  { name: 'three-threaded embedded', create: embeddedOf(3), dirOf },
  { name: 'scripted', create: scripted, dirOf },
  ...(noLlama === undefined ? [{ name: 'llama.cpp', create: llama, versions: 'first' as const, dirOf }] : []),
]

for (const candidate of candidates) keepsTheContract({ ...candidate, isShared: true })

describe('the embedded engine', () => {
  it('fails what was in flight when its thread dies, and restarts with its versions', async () => {
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
