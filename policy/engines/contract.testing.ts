/**
 * The contract of engines as tests: what each of them does, in the process or at a real server.
 *
 * Invariants
 * - A candidate has versions 0, 1 and 2 of a vocabulary of 64 tokens at least, and contexts of `contextLength`.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Engine, EngineCapabilities, SamplingRequest } from './engine.ts'

/** Tokens of a context of candidates. */
export const contextLength = 256

/** An engine that is tested. */
export interface Candidate {
  readonly name: string
  readonly create: () => Promise<Engine>
  /** Which versions it serves; by default many. */
  readonly versions?: EngineCapabilities['versions']
  /** The checkpoint of a version. */
  readonly dirOf: (version: number) => string
  /** Whether one serves several tests, because it does not end with the test that opened it. */
  readonly isShared?: boolean
}

/** Eight tokens, at temperature 1, of version 0. */
export function request(change: Partial<SamplingRequest> = {}): SamplingRequest {
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

/** Tests a candidate. */
export function keepsTheContract(candidate: Candidate): void {
  const { name, create, versions = 'many', dirOf, isShared = false } = candidate
  describe(`the ${name} engine`, () => {
    let engine: Engine
    const open = async () => {
      engine = await create()
      await engine.load(0, dirOf(0))
    }
    const close = () => engine.close()

    describe('with one version', () => {
      const [before, after] = isShared ? [beforeAll, afterAll] : [beforeEach, afterEach]
      before(open)
      after(close)

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
    })

    describe('by itself', () => {
      beforeEach(open)
      afterEach(close)

      versionsAreKept(() => engine, { versions, dirOf })

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
  })
}

function versionsAreKept(
  engine: () => Engine,
  { versions: which, dirOf }: Required<Pick<Candidate, 'versions' | 'dirOf'>>,
): void {
  const many = which === 'many'
  it('answers several hundred requests of several versions in flight at once', async () => {
    const versions = many ? 3 : 1
    if (many) await Promise.all([engine().load(1, dirOf(1)), engine().load(2, dirOf(2))])
    const all = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        engine().sample(
          request({ cacheKey: `episode-${n}`, version: n % versions, seed: n, maxNewTokens: 4 }),
        ),
      ),
    )
    expect(all.map(({ version }) => version)).toEqual(Array.from({ length: 300 }, (_, n) => n % versions))
    expect(all.every(({ tokens }) => tokens.length === 4)).toBe(true)
    expect(await engine().statistics()).toMatchObject({ sampledTokens: 1200, waiting: 0, running: 0 })
  })

  it.runIf(many)(
    'knows its versions: loading twice does nothing, unloading forgets, what is not loaded is refused',
    async () => {
      await Promise.all([engine().load(2, dirOf(2)), engine().load(2, dirOf(2)), engine().load(1, dirOf(1))])
      expect(engine().versions).toEqual([0, 1, 2])
      await engine().unload(1)
      await engine().unload(1)
      expect(engine().versions).toEqual([0, 2])
      await expect(engine().sample(request({ version: 1 }))).rejects.toMatchObject({
        kind: 'version_not_loaded',
      })
      await engine().load(1, dirOf(1))
      expect((await engine().sample(request({ version: 1 }))).version).toBe(1)
    },
  )

  it.runIf(which === 'first')('refuses every version but the first, by name', async () => {
    expect(engine().capabilities.versions).toBe('first')
    await expect(engine().load(1, dirOf(1))).rejects.toMatchObject({ kind: 'unsupported', permanent: true })
    await expect(engine().sample(request({ version: 1 }))).rejects.toMatchObject({
      kind: 'version_not_loaded',
    })
    expect(engine().versions).toEqual([0])
  })

  it.runIf(which === 'latest')(
    'has the newest version alone, which samples for those before it unless one of them is named as the only one',
    async () => {
      await engine().load(2, dirOf(2))
      expect(engine().versions).toEqual([2])
      await engine().load(1, dirOf(1))
      await engine().unload(1)
      expect(engine().versions).toEqual([2])
      const newest = await engine().sample(request({ version: 2 }))
      const older = await engine().sample(request({ version: 1 }))
      expect([newest.version, older.version]).toEqual([2, 2])
      expect(older.spans).toBeUndefined()
      const exact = request({ version: 1, exactVersion: true })
      await expect(engine().sample(exact)).rejects.toMatchObject({ kind: 'superseded', permanent: true })
      expect((await engine().sample({ ...exact, version: 2 })).version).toBe(2)
      await expect(engine().sample(request({ version: 3 }))).rejects.toMatchObject({
        kind: 'version_not_loaded',
      })
    },
  )
}
