/**
 * Tests of a real server whose weights are replaced while it runs.
 *
 * Invariants
 * - The server is one of its own: what it is started with is not what it has afterwards.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { freePort } from '../../test/host/free-port.ts'
import type { ServerProcess } from '../../test/host/server-process.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import { request } from '../engines/contract.testing.ts'
import type { SampledTokens, SamplingRequest } from '../engines/engine.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import { compactAddedTokens } from '../templates/compact-template.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { openServedEngine, type ServedEngine } from './served.ts'
import { servedVersions, servedArchitecture as tiedArchitecture } from './served-versions.testing.ts'
import type { ServerProtocol } from './server-protocol.ts'
import { spanDifferences } from './span-agreement.testing.ts'

const contextLength = 4096
/** On a processor vLLM 0.32 computes a head that is tied to the embeddings with a copy, which it does not replace. */
const architecture: Architecture = { ...tiedArchitecture, tie_word_embeddings: false }
/** Long enough that most are in the middle when the weights are replaced. */
const longTokens = 3500
const longTurn = request({ maxNewTokens: longTokens, temperature: 0.8 })
const longTurns = Array.from({ length: 3 }, (_, n) => ({ ...longTurn, cacheKey: `long-${n}`, seed: n }))

/** A real server. */
export interface ReplacingServer {
  readonly protocol: ServerProtocol
  /** Starts one, the same again after it was killed. */
  readonly start: (of: {
    readonly model: string
    readonly contextLength: number
    readonly port: number
  }) => Promise<ServerProcess>
}

/** Whole models of random weights, each with moments beside its weights, as a trainer leaves them. */
async function publishVersions(root: string): Promise<void> {
  for (const version of servedVersions) {
    const weights = randomWeights(architecture, uniforms(40 + version))
    await publishCheckpoint(join(root, String(version)), {
      ...{ architecture, weights },
      ...(version === 0 ? {} : { optimizer: { step: version, first: weights, second: weights } }),
      tokenizer: trainTokenizer([], { vocabularySize: 320, addedTokens: compactAddedTokens([]) }),
      state: { version, step: version, chat: 'compact', facts: {} },
    })
  }
}

/** Long turns in flight while something is done, and all that had begun by its end. */
async function sampledDuring(
  engine: ServedEngine,
  work: () => Promise<void>,
): Promise<readonly SampledTokens[]> {
  let isDone = false
  // A fast server ends a turn before a slow machine has begun to work: others follow until it is done.
  const playing = longTurns.map(async (turn) => {
    const sampled = [await engine.sample(turn)]
    while (!isDone) sampled.push(await engine.sample(turn))
    return sampled
  })
  for (const played of playing) played.catch(() => undefined)
  try {
    // Beside them, so that they have begun when it has ended.
    await engine.sample(request({ cacheKey: 'short', maxNewTokens: 32 }))
    await work()
  } finally {
    isDone = true
  }
  return (await Promise.all(playing)).flat()
}

/** Tests a server. @param real undefined where it is not installed */
export function replacesWeights(name: string, real: ReplacingServer | undefined): void {
  describe.skipIf(real === undefined)(`the weights of ${name}`, { timeout: 900_000 }, () => {
    // Tests that are skipped are declared all the same.
    const { protocol, start } = (real ?? {}) as ReplacingServer
    let root: string
    let port: number
    let server: ServerProcess
    const dirOf = (version: number): string => join(root, String(version))
    /** Lines of the engines' log. */
    const said: string[] = []
    const startHere = () => start({ model: dirOf(0), contextLength, port })

    beforeAll(async () => {
      root = await mkdtemp(join(tmpdir(), 'replaced-'))
      port = await freePort()
      await publishVersions(root)
      server = await startHere()
    }, 900_000)
    afterAll(async () => {
      await server?.kill()
      if (root !== undefined) await rm(root, { recursive: true, force: true })
    })

    async function engineHere(run = 'replaced'): Promise<ServedEngine> {
      const engine = await openServedEngine(protocol, {
        ...{ run, urls: [server.url], apiKey: undefined, contextLength, answerMs: 600_000, trains: true },
        log: (line) => said.push(line),
      })
      onTestFinished(() => engine.close())
      return engine
    }

    /** Loads a version while long turns are in flight. @returns those that were cut: some, unless the server was lost and had ended them */
    async function loadBeside(engine: ServedEngine, version: number): Promise<readonly SampledTokens[]> {
      said.length = 0
      const sampled = await sampledDuring(engine, async () => {
        const since = performance.now()
        await engine.load(version, dirOf(version))
        const seconds = (performance.now() - since) / 1000
        console.log(`${protocol.name}: version ${version} was loaded and checked in ${seconds.toFixed(2)} s`)
      })
      for (const { tokens } of sampled) expect(tokens.length).toBe(longTokens)
      const cut = sampled.filter(({ spans }) => spans !== undefined)
      const isLost = said.some((line) => line.includes('is lost for now'))
      if (!isLost) expect(cut.length).toBeGreaterThan(0)
      for (const { spans } of cut) expect(spans?.map((span) => span.version)).toEqual([version - 1, version])
      return cut
    }

    /** Mean difference over the tokens; the line goes to the log. */
    async function agreement(what: string, asked: SamplingRequest, turn: SampledTokens): Promise<number> {
      const found = await spanDifferences(asked, turn, dirOf)
      const mean = found.reduce((sum, each) => sum + each, 0) / found.length
      const spans = (turn.spans ?? [{ version: turn.version, tokens: turn.tokens.length }])
        .map(({ version, tokens }) => `${tokens} of version ${version}`)
        .join(', ')
      console.log(
        `${protocol.name}, ${what}: tokens ${spans}; logprobs within ${mean.toExponential(1)} in the mean, ${Math.max(...found).toExponential(1)} at most`,
      )
      return mean
    }

    it('are replaced while a turn is in flight, which has the tokens and logprobs of both versions', async () => {
      const engine = await engineHere()
      await engine.load(0, dirOf(0))
      for (const turn of await loadBeside(engine, 1))
        expect(await agreement('a turn that was cut', longTurn, turn)).toBeLessThan(1e-4)
      // The same context again: what was kept of it is of the older weights.
      const again = await engine.sample(request({ version: 1, temperature: 0.8 }))
      expect(again).toMatchObject({ version: 1 })
      expect(await agreement('the same context again', request({ temperature: 0.8 }), again)).toBeLessThan(
        1e-4,
      )
    })

    it('are brought to the newest version again after it was killed, and replaced from there', async () => {
      const engine = await engineHere('killed')
      await engine.load(0, dirOf(0))
      await engine.load(1, dirOf(1))
      await server.kill()
      const turn = request({ version: 1, temperature: 0.8, maxNewTokens: 64 })
      const waiting = engine.sample(turn)
      waiting.catch(() => undefined)
      server = await startHere()
      const after = await waiting
      expect([after.version, after.spans]).toEqual([1, undefined])
      expect(await agreement('after a restart', turn, after)).toBeLessThan(1e-4)
      for (const turn of await loadBeside(engine, 2))
        expect(await agreement('a turn that was cut then', longTurn, turn)).toBeLessThan(1e-4)
    })

    it('are replaced once by two processes that want it at the same time, and never by an older version', async () => {
      const [one, other] = [await engineHere('two'), await engineHere('two')]
      await Promise.all([one.load(1, dirOf(1)), other.load(1, dirOf(1))])
      await one.load(2, dirOf(2))
      const turn = request({ version: 1, temperature: 0.8, maxNewTokens: 64 })
      const newest = await other.sample(turn)
      expect(newest.version).toBe(2)
      expect(await agreement('what another process has brought', turn, newest)).toBeLessThan(1e-4)
      await expect(other.sample({ ...turn, exactVersion: true })).rejects.toMatchObject({
        kind: 'superseded',
      })
    })
  })
}
