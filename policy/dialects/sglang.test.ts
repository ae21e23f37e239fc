/** The ways in which SGLang's server differs from others; the real one is tested in `sglang-server.test.ts`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { AdapterTarget } from '../../learning/loss/adapter-targets.ts'
import { request } from '../engines/contract.testing.ts'
import type { EngineOptions } from '../engines/engine.ts'
import { type HostileServer, startHostileServer } from '../served/hostile-server.testing.ts'
import { openServedEngine } from '../served/served.ts'
import { initializeAdapter } from '../trainer/initial-checkpoint.ts'
import { answerOf, closeDialects, dialects } from './dialect-servers.testing.ts'
import { publishServed } from './llama-engine.testing.ts'
import { sglangEngine, sglangProtocol } from './sglang.ts'

let root: string
const at = (name: string): string => join(root, name)

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sglang-'))
  await publishServed(at('base'), 0)
})
afterAll(async () => {
  await closeDialects()
  await rm(root, { recursive: true, force: true })
})

const optionsOf = ({ url }: HostileServer): EngineOptions => ({
  ...{ run: 'demo', urls: [url], apiKey: undefined, contextLength: 64, answerMs: 30_000 },
  ...{ threads: 1, exact: false, trains: false, log: () => undefined },
})

// [SGLANG-2]
it('no name of a request begins with another one’s, and an abort names the request', () => {
  const ids = ['demo/x/1', 'demo/x/12', 'demo/g1/s0/a0/t2-1', 'demo/g1/s0/a0/t2-1.2', 'demo/g1/s0/a0/t2-1-0']
  const ridOf = (body: unknown): string => (body as { rid: string }).rid
  const ask = { context: Int32Array.of(1), maxNewTokens: 1, temperature: 1, seed: 1, stopTokens: [] }
  const names = ids.map((id) => ridOf(sglangProtocol.request({ ...ask, id, alternatives: 0 }).body))
  for (const name of names) expect(names.filter((other) => other.startsWith(name))).toEqual([name])
  expect(ids.map((id) => ridOf(sglangProtocol.abort?.(id).body))).toEqual(names)
})

it('a server that was started again says that it has no adapter of the name', () => {
  const { isGone, isThere } = sglangProtocol.adapters as NonNullable<typeof sglangProtocol.adapters>
  // As 0.5.23 says it.
  expect(isGone('Got LoRA adapter that has never been loaded: r@1-ab\nAll loaded adapters: …')).toBe(true)
  expect(isGone('The following requested LoRA adapters are not loaded: r@1-ab')).toBe(true)
  expect(isThere('Failed to load LoRA adapter r@1-ab because it is already loaded')).toBe(true)
})

// [SGLANG-3]
it.each<{ readonly targets: readonly AdapterTarget[]; readonly missing: string }>([
  { targets: ['up_proj', 'down_proj'], missing: 'gate_proj' },
  { targets: ['v_proj'], missing: 'q_proj' },
  { targets: ['q_proj', 'o_proj'], missing: 'v_proj' },
  { targets: ['k_proj'], missing: 'q_proj, v_proj' },
])('an adapter of $targets is refused, and not sent to the server', async ({ targets, missing }) => {
  const server = await startHostileServer(() => ({}))
  onTestFinished(() => server.close())
  const dir = at(targets.join('-'))
  await initializeAdapter(dir, { baseDir: at('base'), shape: { rank: 2, alpha: 4, targets }, seed: 1 })
  const engine = await sglangEngine.open(optionsOf(server))
  onTestFinished(() => engine.close())
  await expect(engine.load(0, dir)).rejects.toMatchObject({
    ...{ kind: 'unsupported', permanent: true },
    message: expect.stringContaining(`it needs ${missing} too`),
  })
  expect(server.calls).toEqual([])
})

// [SERVED-8]
it('a turn whose connection broke is asked for under another name, because the server refuses one that it still computes', async () => {
  const dialect = dialects.find(({ protocol }) => protocol === sglangProtocol)
  if (dialect === undefined) throw new RangeError('no dialect of SGLang')
  const computed = new Set<string>()
  const server = await startHostileServer((call, response) => {
    if (call.path !== '/generate') return {}
    const { rid } = call.body
    if (computed.has(rid)) {
      response.statusCode = 400
      return { error: { message: `Duplicate request ID detected: ${rid}` } }
    }
    computed.add(rid)
    return rid === 'turn;' ? response.destroy() : answerOf(dialect, call, at('base'))
  })
  onTestFinished(() => server.close())
  const engine = await openServedEngine(sglangProtocol, {
    ...optionsOf(server),
    modelOf: async () => ({ vocabulary: 64, score: undefined }),
  })
  onTestFinished(() => engine.close())
  await engine.load(0, at('base'))
  expect((await engine.sample(request({ id: 'turn' }))).tokens.length).toBe(8)
  expect([...computed].filter((rid) => rid.startsWith('turn'))).toEqual(['turn;', 'turn.2;'])
})
