/** Versions that take one another's place at servers in the form of vLLM and SGLang: loaded, cut, lost, marked, and fought over. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { processScope } from '../../../machine/processes/process.ts'
import { publishCheckpoint, readCheckpoint } from '../../checkpoints/checkpoint.ts'
import { closeDialects, type Dialect, dialects } from '../../dialects/dialect-servers.testing.ts'
import { publishServed } from '../../dialects/llama-engine.testing.ts'
import { request } from '../../engines/contract.testing.ts'
import type { SampledTokens } from '../../engines/engine.ts'
import { type HeardCall, startHostileServer } from '../hostile-server.testing.ts'
import { type InPlaceServer, startInPlaceServer } from '../in-place-servers.testing.ts'
import { openServedEngine, type ServedEngine, type ServedEngineSettings } from '../served.ts'
import { spanDifferences } from '../span-agreement.testing.ts'
import { versionName } from './served-adapters.ts'
import { modelIn, type ServedModel } from './served-model.ts'

let root: string
const at = (version: number | string): string => join(root, String(version))
const nameOf = (version: number, run = 'demo') => versionName(at(version), `${run}@${version}`)

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'served-weights-'))
  for (const version of [0, 1, 2]) await publishServed(at(version), version)
  const { weights, ...last } = await readCheckpoint(at(2))
  const moments = { step: 1, first: weights, second: weights }
  await publishCheckpoint(at(3), {
    ...{ ...last, weights, optimizer: moments },
    state: { ...last.state, version: 3, step: 3 },
  })
})
afterAll(async () => {
  await closeDialects()
  await rm(root, { recursive: true, force: true })
})

/** Without the logprobs of its weights, which take a trainer each time. */
async function unscored(dir: string, version: string): Promise<ServedModel> {
  return { ...(await modelIn(dir, version)), score: undefined }
}

async function engineOf(
  { protocol }: Dialect,
  { url }: Pick<InPlaceServer, 'url'>,
  change: Partial<ServedEngineSettings> = {},
): Promise<ServedEngine> {
  const engine = await openServedEngine(protocol, {
    ...{ run: 'demo', urls: [url], apiKey: undefined, contextLength: 64, answerMs: 30_000 },
    ...{ trains: true, log: () => undefined, modelOf: unscored, ...change },
  })
  onTestFinished(() => engine.close())
  return engine
}

/** Holds the first turn at a token: its promise settles when the turn is there, and `go` lets it continue. */
function turnHeld(dialect: Dialect, server: InPlaceServer, place: number) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  server.conduct = {
    ...server.conduct,
    beforeToken: async (call: HeardCall, token: number) => {
      // The canary's context is longer.
      if (!isFirst || dialect.asked(call).prompt.length !== 3 || token < place) return
      isFirst = false
      reached.resolve()
      await released.promise
    },
  }
  return { reached: reached.promise, go: released.resolve }
}

describe.each(dialects)('a version at a server of $protocol.name', (dialect) => {
  const start = (): Promise<InPlaceServer> => startInPlaceServer(dialect, { base: at(0) })

  // [SERVED-9] [SERVED-WEIGHTS-1]
  it('takes the place of the one before, and a turn that this cuts has the tokens and logprobs of each', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server, { modelOf: modelIn })
    await engine.load(0, at(0))
    const held = turnHeld(dialect, server, 3)
    const asked = request({ temperature: 0.8 })
    const turn = engine.sample(asked)
    await held.reached
    await engine.load(1, at(1))
    const sampled = await turn
    expect(sampled).toMatchObject({
      ...{ version: 0, finish: 'length' },
      spans: [
        { version: 0, tokens: 3 },
        { version: 1, tokens: 5 },
      ],
    })
    expect(Math.max(...(await spanDifferences(asked, sampled, at)))).toBeLessThan(1e-5)
    expect(server.now).toMatchObject({ name: await nameOf(1), dir: at(1), isPaused: false })
    expect(engine.versions).toEqual([1])
    const names = server.calls.map(({ body }) => body?.request_id ?? body?.rid).filter(Boolean)
    expect(new Set(names).size).toBe(names.length)
  })

  // [FIT-2]
  it('that another process has brought is taken over, by a turn in flight too', async () => {
    const server = await start()
    const [one, other] = [await engineOf(dialect, server), await engineOf(dialect, server)]
    await Promise.all([one.load(0, at(0)), other.load(0, at(0))])
    const held = turnHeld(dialect, server, 2)
    const turn = other.sample(request())
    await held.reached
    await one.load(1, at(1))
    expect((await turn).spans).toEqual([
      { version: 0, tokens: 2 },
      { version: 1, tokens: 6 },
    ])
    expect(other.versions).toEqual([1])
    await one.load(2, at(2))
    expect(await other.sample(request({ version: 1 }))).toMatchObject({ version: 2 })
  })

  // [SERVED-WEIGHTS-2]
  it('is loaded once by several processes, and never over a newer one', async () => {
    const server = await start()
    const engines = await Promise.all([0, 1, 2].map(() => engineOf(dialect, server)))
    const [one, other, late] = engines as [ServedEngine, ServedEngine, ServedEngine]
    await Promise.all(engines.map((engine) => engine.load(0, at(0))))
    expect(server.loaded).toEqual([at(0)])
    await Promise.all([one.load(1, at(1)), other.load(1, at(1))])
    expect(server.loaded).toEqual([at(0), at(1)])
    await one.load(2, at(2))
    await Promise.all([late.load(1, at(1)), other.load(1, at(1))])
    expect(server.loaded).toEqual([at(0), at(1), at(2)])
    expect((await late.sample(request({ version: 1 }))).version).toBe(2)
    expect(late.versions).toEqual([2])
  })

  // [SERVED-WEIGHTS-1] [SERVED-WEIGHTS-2]
  it('is never mislabelled and never replaced by an older one, however the calls of several processes fall', async () => {
    for (const seed of [1, 2]) {
      const draw = uniforms(seed)
      const server = await start()
      const wait = async () => {
        for (let left = Math.floor(12 * draw()); left > 0; left--) await new Promise(setImmediate)
      }
      const mislabelled: string[] = []
      const names = new Map(await Promise.all([0, 1, 2].map(async (v) => [await nameOf(v), at(v)] as const)))
      server.conduct = {
        onControl: wait,
        beforeToken: async () => {
          await wait()
          const { name, dir } = server.now
          if ((names.get(name) ?? dir) !== dir) mislabelled.push(`${name} with ${dir}`)
        },
      }
      const engines = await Promise.all([0, 1, 2].map(() => engineOf(dialect, server, { modelOf: unscored })))
      const turns: SampledTokens[] = []
      await Promise.all(
        engines.map(async (engine) => {
          for (const version of [0, 1, 2]) {
            await wait()
            await engine.load(version, at(version))
            turns.push(await engine.sample(request({ version })))
          }
        }),
      )
      expect(mislabelled).toEqual([])
      expect(server.loaded).toEqual([...new Set(server.loaded)].toSorted())
      expect(server.now).toMatchObject({ name: await nameOf(2), dir: at(2), isPaused: false })
      const some = turns.filter(({ spans }, at) => spans !== undefined || at === 0)
      for (const turn of some)
        expect(Math.max(...(await spanDifferences(request(), turn, at)))).toBeLessThan(1e-5)
    }
  })

  // [SERVED-WEIGHTS-3]
  it('whose load fails is none, the server goes on, and the load is done again', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    await engine.load(0, at(0))
    server.conduct = { onReload: () => 500 }
    await expect(engine.load(1, at(1))).rejects.toMatchObject({ kind: 'unreachable', permanent: false })
    expect(server.now).toMatchObject({ name: `${await nameOf(1)}?`, isPaused: false })
    server.conduct = {}
    expect((await engine.sample(request())).version).toBe(0)
    await engine.load(1, at(1))
    expect(server.now).toMatchObject({ name: await nameOf(1), dir: at(1), isPaused: false })
    expect((await engine.sample(request())).version).toBe(1)
  })

  it('is refused by a server that was started without what replacing it needs, and the message says what', async () => {
    const plain = await startHostileServer(({ path }, response) =>
      path === '/health' ? {} : response.writeHead(404).end('{"detail":"Not Found"}'),
    )
    onTestFinished(() => plain.close())
    const engine = await engineOf(dialect, plain)
    await expect(engine.load(1, at(1))).rejects.toMatchObject({
      ...{ kind: 'refused', permanent: true },
      message: expect.stringContaining(dialect.protocol.inPlace?.advice ?? '?'),
    })
  })

  it('that the server refuses once is loaded at the next try, and one that it always refuses says what to start it with', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    let refusals = 1
    server.conduct = { onReload: () => (refusals-- > 0 ? 400 : undefined) }
    await engine.load(0, at(0))
    server.conduct = { onReload: () => 400 }
    await expect(engine.load(1, at(1))).rejects.toMatchObject({
      ...{ kind: 'refused', permanent: true },
      message: expect.stringContaining('start it with'),
    })
    expect(server.now.isPaused).toBe(false)
  })

  // [FIT-1]
  it('is loaded again where the server was killed in the pause, and where it was killed later', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    await engine.load(0, at(0))
    server.conduct = {
      onReload: async () => {
        await server.kill()
        return 500
      },
    }
    await expect(engine.load(1, at(1))).rejects.toMatchObject({ kind: 'unreachable' })
    server.conduct = {}
    await server.restart()
    await engine.load(1, at(1))
    await engine.load(2, at(2))
    await server.kill()
    await server.restart()
    expect(server.now.name).toBe('default')
    expect((await engine.sample(request({ version: 1 }))).version).toBe(2)
    expect(server.loaded).toEqual([at(0), at(1), at(2), at(2)])
  })

  // [SERVED-WEIGHTS-3]
  it('is loaded over the mark of a process that has ended, and a server that it left paused is resumed', async () => {
    const server = await start()
    const call = async ({ path, body }: { readonly path: string; readonly body: unknown }) => {
      await fetch(server.url + path, { method: 'POST', body: JSON.stringify(body) })
    }
    const { inPlace } = dialect.protocol
    if (inPlace === undefined) throw new RangeError('its weights are never replaced')
    await call(inPlace.pause)
    const dead = processScope().replace(/^p\d+/, 'p4194304')
    await call(inPlace.rename(`${await nameOf(1)}?${dead}.0`))
    const engine = await engineOf(dialect, server)
    await engine.load(1, at(1))
    await call(inPlace.pause)
    const later = await engineOf(dialect, server)
    await later.load(1, at(1))
    expect((await later.sample(request({ version: 1 }))).version).toBe(1)
    expect(server.loaded).toEqual([at(1)])
  })

  // [SERVED-9] [SAMPLING-2]
  it('that must be the only one ends with a fault that no try changes, where a newer one has come', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    await engine.load(0, at(0))
    const held = turnHeld(dialect, server, 3)
    const turn = engine.sample(request({ exactVersion: true }))
    turn.catch(() => undefined)
    await held.reached
    await engine.load(1, at(1))
    await expect(turn).rejects.toMatchObject({
      ...{ kind: 'superseded', permanent: true },
      message: expect.stringContaining('has version 1 now, and version 0 is asked for'),
    })
  })

  it('samples on where someone has ended its requests, and says so where someone always does', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    await engine.load(0, at(0))
    const { inPlace } = dialect.protocol
    const interrupt = async () => {
      for (const each of [inPlace?.pause, inPlace?.resume])
        await fetch(`${server.url}${each?.path}`, { method: 'POST', body: JSON.stringify(each?.body) })
    }
    const held = turnHeld(dialect, server, 3)
    const turn = engine.sample(request())
    await held.reached
    await interrupt()
    const sampled = await turn
    expect(sampled).toMatchObject({ version: 0, finish: 'length' })
    expect([sampled.tokens.length, sampled.spans]).toEqual([8, undefined])
    server.conduct = {
      beforeToken: async (call) => {
        if (dialect.asked(call).prompt.length === 3) await interrupt()
      },
    }
    await expect(engine.sample(request())).rejects.toMatchObject({ kind: 'cut', permanent: false })
  })

  it('of another run ends the turns of a run that had the server, and is no hindrance to one that comes to it', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    await engine.load(1, at(1))
    const other = await engineOf(dialect, server, { run: 'other' })
    await other.load(0, at(0))
    await expect(engine.load(2, at(2))).rejects.toMatchObject({
      ...{ kind: 'another_model', permanent: true },
      message: expect.stringContaining('one version at a time serves one run'),
    })
    expect(server.now.name).toBe(await nameOf(0, 'other'))
  })

  it('is loaded without the moments of its optimizer, which a server would take for weights', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server)
    expect(await readdir(at(3))).toContain('optimizer.safetensors')
    await engine.load(3, at(3))
    expect(server.loaded).toEqual([at(3)])
  })

  // [CANARY-2]
  it('whose weights the server has not really loaded is refused before a turn is sampled', async () => {
    const server = await start()
    const engine = await engineOf(dialect, server, { modelOf: modelIn })
    server.conduct = { onReload: () => 200 }
    await expect(engine.load(1, at(1))).rejects.toMatchObject({ kind: 'another_model' })
    expect(engine.versions).toEqual([])
  })

  it('is at every server that answers, and a turn at a paused one goes on there', async () => {
    const [first, second] = [await start(), await start()]
    const engine = await engineOf(dialect, first, { urls: [first.url, second.url] })
    await engine.load(0, at(0))
    await expect.poll(() => second.now.name).toBe(await nameOf(0))
    await engine.load(1, at(1))
    await expect.poll(() => [first.now.dir, second.now.dir]).toEqual([at(1), at(1)])
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, n) => engine.sample(request({ cacheKey: `${n}`, version: 1 }))),
    )
    expect(all.every(({ version, spans }) => version === 1 && spans === undefined)).toBe(true)
  })
})
