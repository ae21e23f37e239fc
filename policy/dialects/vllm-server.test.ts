/**
 * vLLM's real server: the contract of engines, versions that are adapters or take one another's place, and what becomes of them when it
 * is killed.
 *
 * It is installed and these are run by `npm test -- --vllm`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../test/host/free-port.ts'
import { pythonWithVllm, startVllmServer, type VllmServer } from '../../test/peers/vllm-server.ts'
import { agreementLine, measureAgreement } from '../engines/agreement.testing.ts'
import { contextLength, keepsTheContract, request } from '../engines/contract.testing.ts'
import { replacesWeights } from '../served/replaced-weights.testing.ts'
import { openServedEngine, type ServedEngine } from '../served/served.ts'
import {
  publishServedVersions,
  servedArchitecture,
  servedVersions,
} from '../served/served-versions.testing.ts'
import { initializeAdapter } from '../trainer/initial-checkpoint.ts'
import { checkServer } from './server-check.ts'
import { vllmProtocol } from './vllm.ts'

const long = 4096
const versions = servedVersions
const targets = ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'] as const
const python = pythonWithVllm()

let root: string
let port: number
let server: VllmServer
const dirOf = (version: number | 'base'): string => join(root, String(version))

const start = (): Promise<VllmServer> =>
  startVllmServer({ python: python ?? '', model: dirOf('base'), contextLength: long, adapters: 3, port })

async function open(room = contextLength): Promise<ServedEngine> {
  return await openServedEngine(vllmProtocol, {
    ...{ run: 'contract', urls: [server.url], apiKey: undefined, contextLength: room, answerMs: 120_000 },
    log: () => undefined,
  })
}

/** An engine with all versions. */
async function engineOfAll(room?: number): Promise<ServedEngine> {
  const engine = await open(room)
  onTestFinished(() => engine.close())
  await Promise.all(versions.map((version) => engine.load(version, dirOf(version))))
  return engine
}

async function served(): Promise<readonly string[]> {
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] }
  return data.map(({ id }) => id).filter((id) => id !== 'base')
}

describe.skipIf(python === undefined)('vLLM’s real server', { timeout: 900_000 }, () => {
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'vllm-'))
    port = await freePort()
    await publishServedVersions(root, targets)
    server = await start()
  }, 900_000)
  afterAll(async () => {
    await server?.kill()
    if (root !== undefined) await rm(root, { recursive: true, force: true })
  })

  keepsTheContract({ name: 'vllm', create: open, dirOf })

  it('passes `engine check`', async () => {
    const found = []
    const checked = { url: server.url, protocol: vllmProtocol, checkpointDir: dirOf(0), contextLength }
    for await (const result of checkServer(checked)) found.push(result)
    expect(found.filter(({ ok }) => !ok)).toEqual([])
    expect(found.length).toBe(6)
  })

  it('has versions under names of their own, beside one another, until they are unloaded', async () => {
    const engine = await engineOfAll()
    expect(await served()).toEqual(
      expect.arrayContaining(
        versions.map((version) => expect.stringMatching(new RegExp(`^contract@${version}-`))),
      ),
    )
    await engine.unload(1)
    expect((await served()).length).toBe(2)
    await engine.load(1, dirOf(1))
    expect((await served()).length).toBe(3)
    await engine.close()
    expect(await served()).toEqual([])
  })

  it('gives turns of one episode from three versions at once, each with the logprobs of its version', async () => {
    const engine = await engineOfAll()
    const asked = versions.map((version) => engine.sample(request({ version })))
    const answers = await Promise.all(asked)
    expect(new Set(answers.map(({ logprobs }) => logprobs.join())).size).toBe(3)
    const folders = new Map(versions.map((version) => [version, dirOf(version)]))
    const agreement = await measureAgreement(engine, folders, servedArchitecture.vocab_size)
    console.log(agreementLine('vllm', agreement))
    expect(agreement.tokens).toBeGreaterThan(300)
    expect(agreement.mean).toBeLessThan(1e-4)
    expect(agreement.beyondClip).toBe(0)
  })

  it('is refused where what it loads under a version’s name has other contents', async () => {
    const engine = await openServedEngine(vllmProtocol, {
      ...{ run: 'other', urls: [server.url], apiKey: undefined, contextLength, answerMs: 120_000 },
      log: () => undefined,
      modelOf: async () => {
        const { weightScore } = await import('../served/weights/served-model.ts')
        const adapter = { name: 'other@1', dir: dirOf(2) }
        return { vocabulary: servedArchitecture.vocab_size, score: await weightScore(dirOf(1)), adapter }
      },
    })
    onTestFinished(() => engine.close())
    await expect(engine.load(1, dirOf(1))).rejects.toMatchObject({ kind: 'another_model' })
    expect(await served()).toEqual([])
  })

  it('refuses an adapter of a rank that the server was not started for, and says what to do', async () => {
    const engine = await open()
    onTestFinished(() => engine.close())
    const shape = { rank: 16, alpha: 8, targets: ['q_proj'] } as const
    await initializeAdapter(join(root, 'large'), { baseDir: dirOf('base'), shape, seed: 1 })
    await expect(engine.load(3, join(root, 'large'))).rejects.toMatchObject({
      ...{ kind: 'refused', permanent: true },
      message: expect.stringContaining('--max-lora-rank'),
    })
  })

  it('ends a turn that is cancelled', async () => {
    const engine = await engineOfAll(long)
    const computed = () => server.counter('vllm:generation_tokens_total')
    const before = await computed()
    const controller = new AbortController()
    const turn = engine.sample(request({ version: 1, maxNewTokens: long - 8 }), controller.signal)
    turn.catch(() => undefined)
    await expect.poll(() => server.counter('vllm:num_requests_running'), { timeout: 60_000 }).toBe(1)
    controller.abort(new Error('no longer wanted'))
    await expect(turn).rejects.toThrow('no longer wanted')
    // The server reports its figures with the next step.
    await engine.sample(request())
    await expect.poll(() => server.counter('vllm:num_requests_running'), { timeout: 60_000 }).toBe(0)
    expect((await computed()) - before).toBeLessThan(long - 8)
  })

  it('that is killed and started again has its versions again before a turn is sampled', async () => {
    const engine = await engineOfAll()
    const before = await Promise.all(versions.map((version) => engine.sample(request({ version }))))
    await server.kill()
    const waiting = versions.map((version) => engine.sample(request({ version, cacheKey: `${version}` })))
    for (const turn of waiting) turn.catch(() => undefined)
    server = await start()
    const after = await Promise.all(waiting)
    expect(after.map(({ tokens }) => [...tokens])).toEqual(before.map(({ tokens }) => [...tokens]))
    expect((await served()).length).toBe(3)
  })
})

replacesWeights(
  'vLLM’s real server',
  python === undefined
    ? undefined
    : {
        protocol: vllmProtocol,
        start: (of) => startVllmServer({ ...of, python, adapters: 0 }),
      },
)
