/** Adapters at servers in the form of vLLM and SGLang: loaded by name, checked, sampled from at once, unloaded, lost. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { publishCheckpoint, readCheckpoint } from '../../checkpoints/checkpoint.ts'
import {
  closeDialects,
  dialects,
  isCanaryAction,
  startAdapterServer,
} from '../../dialects/dialect-servers.testing.ts'
import { llamaCppProtocol } from '../../dialects/llama-cpp.ts'
import { vllmProtocol } from '../../dialects/vllm.ts'
import type { SamplingRequest } from '../../engines/engine.ts'
import { createTrainer } from '../../trainer/embedded.ts'
import { initializeAdapter, initializeCheckpoint } from '../../trainer/initial-checkpoint.ts'
import type { Trainer } from '../../trainer/trainer.ts'
import { smallArchitecture } from '../../transformer/small-architecture.testing.ts'
import { startHostileServer } from '../hostile-server.testing.ts'
import { openServedEngine, type ServedEngine } from '../served.ts'
import type { ServerProtocol } from '../server-protocol.ts'

let root: string
let trainer: Trainer
const at = (name: string | number): string => join(root, String(name))

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'served-adapters-'))
  trainer = createTrainer({ threads: 1 })
  await initializeCheckpoint(at('fresh'), {
    ...{ architecture: smallArchitecture, tokenizer: '{}', chat: 'compact', seed: 1 },
  })
  const fresh = await readCheckpoint(at('fresh'))
  // A fresh policy finds all tokens about as likely, whatever is adapted: its versions would not differ.
  const surer = [...fresh.weights].map(
    ([name, data]) => [name, name.includes('embed') ? data.map((x) => 20 * x) : data] as const,
  )
  await publishCheckpoint(at('base'), { ...fresh, weights: new Map(surer) })
  const shape = { rank: 2, alpha: 16, targets: ['q_proj', 'down_proj'] } as const
  await initializeAdapter(at(0), { baseDir: at('base'), shape, seed: 1 })
  const first = await readCheckpoint(at(0))
  for (const version of [1, 2]) {
    const next = uniforms(version)
    const entries = [...(first.adapter?.weights ?? [])]
    const weights = new Map(entries.map(([name, data]) => [name, data.map(() => next() - 0.5)]))
    const adapter = first.adapter && { ...first.adapter, weights }
    await publishCheckpoint(at(version), { ...first, adapter, state: { ...first.state, version } })
  }
})
afterAll(async () => {
  await Promise.all([trainer.close(), closeDialects()])
  await rm(root, { recursive: true, force: true })
})

async function engineOf(protocol: ServerProtocol, url: string): Promise<ServedEngine> {
  const engine = await openServedEngine(protocol, {
    ...{ run: 'demo', urls: [url], apiKey: undefined, contextLength: 64, answerMs: 30_000 },
    log: () => undefined,
  })
  onTestFinished(() => engine.close())
  return engine
}

function request(version: number, change: Partial<SamplingRequest> = {}): SamplingRequest {
  return {
    ...{ cacheKey: `episode`, borders: [], context: Int32Array.of(1, 2, 3), version, maxNewTokens: 3 },
    ...{ temperature: 0.8, stopTokens: [], seed: 11, ...change },
  }
}

describe.each(dialects)('versions at a server of $protocol.name', (dialect) => {
  const { protocol } = dialect

  // [SERVED-6] [SERVED-ADAPTER-1]
  it('are adapters under names of their own, and turns of one episode come from three at once', async () => {
    const server = await startAdapterServer(dialect)
    const engine = await engineOf(protocol, server.url)
    for (const version of [0, 1, 2]) await engine.load(version, at(version))
    expect([...server.loaded.values()]).toEqual([at(0), at(1), at(2)])
    for (const [version, name] of [...server.loaded.keys()].entries())
      expect(name).toMatch(new RegExp(`^demo@${version}-[0-9a-f]{8}$`))
    const answers = await Promise.all([0, 1, 2].map((version) => engine.sample(request(version))))
    for (const { version, tokens, logprobs } of answers) {
      const whole = Int32Array.of(1, 2, 3, ...tokens)
      const own = await trainer.logprobs({
        ...{ checkpointDir: at(version), tokens: whole, offsets: Int32Array.of(0, 6) },
        ...{ lossMask: Uint8Array.of(0, 0, 0, 1, 1, 1), temperature: 0.8, microBatchTokens: 64 },
      })
      for (const [place, logprob] of logprobs.entries())
        expect(Math.abs(logprob - (own[3 + place] ?? Number.NaN))).toBeLessThan(1e-5)
    }
    expect(new Set(answers.map(({ logprobs }) => logprobs.join())).size).toBe(3)
  })

  // [SERVED-6]
  it('are unloaded when their last turn has ended, and when the engine is closed', async () => {
    const server = await startAdapterServer(dialect)
    const engine = await engineOf(protocol, server.url)
    await engine.load(1, at(1))
    await engine.load(2, at(2))
    const turn = engine.sample(request(1))
    await engine.unload(1)
    expect(server.loaded.size).toBe(2)
    await turn
    await expect.poll(() => [...server.loaded.values()]).toEqual([at(2)])
    await engine.close()
    expect(server.loaded.size).toBe(0)
  })

  // [SERVED-6]
  it('that another worker has loaded are taken, and those that the server has lost are loaded again', async () => {
    const server = await startAdapterServer(dialect)
    const [one, other] = [await engineOf(protocol, server.url), await engineOf(protocol, server.url)]
    await one.load(1, at(1))
    await other.load(1, at(1))
    server.loaded.clear()
    expect((await other.sample(request(1))).version).toBe(1)
    expect([...server.loaded.values()]).toEqual([at(1)])
  })

  // [CANARY-3] [SERVED-7]
  it('that a server mixes up in a batch are refused, though each of them alone is right', async () => {
    const batch = Promise.withResolvers<void>()
    let askedOfNewest = 0
    const server = await startAdapterServer(dialect, {
      // The one before the newest gets the newest's answers, once both are in one batch.
      dirOf: async (dir, { loaded, isAction }) => {
        const newest = [...loaded.values()].at(-1) ?? dir
        if (loaded.size < 2 || !isAction) return dir
        if (dir === newest && ++askedOfNewest === 2) batch.resolve()
        if (dir !== newest) await batch.promise
        return newest
      },
    })
    const engine = await engineOf(protocol, server.url)
    await engine.load(1, at(1))
    await expect(engine.load(2, at(2))).rejects.toMatchObject({
      kind: 'another_model',
      permanent: true,
      message: expect.stringContaining('beside 2 the logprobs of version 1 differ by'),
    })
    expect(engine.versions).toEqual([1])
  })

  // [SERVED-7]
  it('that come together are checked one after the other, each beside those before it', async () => {
    const server = await startAdapterServer(dialect)
    const engine = await engineOf(protocol, server.url)
    await Promise.all([0, 1, 2].map((version) => engine.load(version, at(version))))
    const actions = server.calls.filter((call) => isCanaryAction(dialect, call))
    const versions = actions.map((call) => Number(/@(\d)/.exec(dialect.adapterOf(call) ?? '')?.[1]))
    const [first, second, third] = [versions[0], versions[1], versions[4]]
    expect(new Set([first, second, third]).size).toBe(3)
    expect(versions.slice(2, 4).toSorted()).toEqual([first, second].toSorted())
    expect(versions.slice(5).toSorted()).toEqual([0, 1, 2])
  })

  // [SERVED-7]
  it('that the server has lost keep no other from being loaded, and are loaded again', async () => {
    const server = await startAdapterServer(dialect)
    const engine = await engineOf(protocol, server.url)
    await engine.load(1, at(1))
    server.loaded.clear()
    await engine.load(2, at(2))
    expect([...server.loaded.values()]).toEqual([at(2)])
    expect((await engine.sample(request(1))).version).toBe(1)
    expect([...server.loaded.values()].toSorted()).toEqual([at(1), at(2)])
  })

  // [CANARY-2]
  it('whose contents are those of another version are refused before a turn is sampled', async () => {
    const server = await startAdapterServer(dialect, { folderOf: () => at(2) })
    const engine = await engineOf(protocol, server.url)
    await expect(engine.load(1, at(1))).rejects.toMatchObject({ kind: 'another_model' })
    expect(engine.versions).toEqual([])
    expect(server.loaded.size).toBe(0)
  })
})

it('an adapter that the server can never load is refused, with what to start the server with', async () => {
  const words = 'LoRA rank 16 is greater than max_lora_rank 8.'
  const server = await startHostileServer(({ path }, response) =>
    path === '/health' ? {} : response.writeHead(500).end(words),
  )
  onTestFinished(() => server.close())
  const engine = await engineOf(vllmProtocol, server.url)
  await expect(engine.load(1, at(1))).rejects.toMatchObject({
    ...{ kind: 'refused', permanent: true },
    message: expect.stringMatching(/greater than max_lora_rank.*--max-lora-rank/),
  })
})

it('an engine that loads no adapters refuses a version beyond 0 by name', async () => {
  const server = await startHostileServer(() => ({}))
  onTestFinished(() => server.close())
  const engine = await engineOf(llamaCppProtocol, server.url)
  await expect(engine.load(1, at(1))).rejects.toThrow(/llama.cpp serves the one model.*version 1/)
})
