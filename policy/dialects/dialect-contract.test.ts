/** The contract of engines over servers in the forms of vLLM and SGLang, whose versions are adapters, or take one another's place; and what a cancelled turn says there. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { publishCheckpoint, readCheckpoint } from '../checkpoints/checkpoint.ts'
import { contextLength, keepsTheContract, request } from '../engines/contract.testing.ts'
import { silence, startHostileServer } from '../served/hostile-server.testing.ts'
import { startInPlaceServer } from '../served/in-place-servers.testing.ts'
import { openServedEngine, type ServedEngine, type ServedEngineSettings } from '../served/served.ts'
import { initializeAdapter } from '../trainer/initial-checkpoint.ts'
import {
  answerOf,
  closeDialects,
  type Dialect,
  dialects,
  startAdapterServer,
} from './dialect-servers.testing.ts'
import { publishServed } from './llama-engine.testing.ts'
import { sglangProtocol } from './sglang.ts'

let root: string
const dirOf = (version: number | 'base'): string => join(root, String(version))
const wholeOf = (version: number): string => join(root, 'whole', String(version))

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'dialect-contract-'))
  await publishServed(dirOf('base'), 0)
  await mkdir(join(root, 'whole'))
  for (const version of [0, 1, 2]) await publishServed(wholeOf(version), version)
  const shape = { rank: 2, alpha: 4, targets: ['q_proj', 'down_proj'] } as const
  await initializeAdapter(dirOf(0), { baseDir: dirOf('base'), shape, seed: 1 })
  const first = await readCheckpoint(dirOf(0))
  for (const version of [1, 2]) {
    const next = uniforms(version)
    const entries = [...(first.adapter?.weights ?? [])]
    const weights = new Map(entries.map(([name, data]) => [name, data.map(() => next() - 0.5)]))
    const adapter = first.adapter && { ...first.adapter, weights }
    await publishCheckpoint(dirOf(version), { ...first, adapter, state: { ...first.state, version } })
  }
})
afterAll(async () => {
  await closeDialects()
  await rm(root, { recursive: true, force: true })
})

const settings: Omit<ServedEngineSettings, 'urls'> = {
  ...{ run: 'contract', apiKey: undefined, contextLength, answerMs: 120_000 },
  log: () => undefined,
}

async function open(dialect: Dialect): Promise<ServedEngine> {
  const { url } = await startAdapterServer(dialect)
  return await openServedEngine(dialect.protocol, { ...settings, urls: [url] })
}

/** Each version takes the place of the one before at the server. */
async function openInPlace(dialect: Dialect): Promise<ServedEngine> {
  const { url } = await startInPlaceServer(dialect, { base: wholeOf(0) })
  return await openServedEngine(dialect.protocol, { ...settings, urls: [url], trains: true })
}

for (const dialect of dialects) {
  keepsTheContract({
    name: `${dialect.protocol.name} (a server in its form)`,
    create: () => open(dialect),
    dirOf,
  })
  keepsTheContract({
    name: `${dialect.protocol.name} (a server in its form whose weights are replaced)`,
    create: () => openInPlace(dialect),
    versions: 'latest',
    dirOf: wholeOf,
  })
}

// [SERVED-4]
it('a turn that is cancelled is aborted at SGLang by its name', async () => {
  const dialect = dialects.find(({ protocol }) => protocol === sglangProtocol)
  if (dialect === undefined) throw new RangeError('no dialect of SGLang')
  const server = await startHostileServer((call) =>
    call.path === '/generate' && call.body.rid !== 'turn;'
      ? answerOf(dialect, call, dirOf('base'))
      : call.path === '/generate'
        ? silence
        : {},
  )
  const engine = await openServedEngine(sglangProtocol, {
    ...{ ...settings, urls: [server.url] },
    modelOf: async () => ({ vocabulary: 64, score: undefined }),
  })
  await engine.load(0, dirOf('base'))
  const controller = new AbortController()
  const turn = engine.sample(request({ id: 'turn' }), controller.signal)
  turn.catch(() => undefined)
  await expect.poll(() => server.calls.filter(({ body }) => body?.rid === 'turn;').length).toBe(1)
  controller.abort(new Error('no longer wanted'))
  await expect(turn).rejects.toThrow('no longer wanted')
  await expect
    .poll(() => server.calls.at(-1))
    .toMatchObject({ path: '/abort_request', body: { rid: 'turn;' } })
  await engine.close()
  await server.close()
})
