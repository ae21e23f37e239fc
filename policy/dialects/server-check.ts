/**
 * The check of a server: what an engine asks of it before and while it samples, tried once.
 *
 * Invariants
 * - Every check has a result, and one that fails says what was wrong; nothing is sampled from a server whose canary
 *   is wrong.
 */
import { reasonOf } from '../../faults/reason.ts'
import { type Engine, EngineFault, type SampledTokens, type SamplingRequest } from '../engines/engine.ts'
import { openServedEngine, type ServedEngineSettings } from '../served/served.ts'
import { callServer } from '../served/server-call.ts'
import type { ServerProtocol } from '../served/server-protocol.ts'
import { adapterLooks, makeAdapters } from './adapter-check.ts'
import { llamaCppProtocol } from './llama-cpp.ts'
import { sglangProtocol } from './sglang.ts'
import { vllmProtocol } from './vllm.ts'

export interface CheckResult {
  readonly check: string
  readonly ok: boolean
  /** The finding, or the error. */
  readonly detail: string
}

const protocols: readonly ServerProtocol[] = [llamaCppProtocol, sglangProtocol, vllmProtocol]
const asked = { answerMs: 60_000, answerBytes: 2 ** 22 } as const

/** The kind of a server, by what it alone answers. @throws EngineFault `unsupported`, `unreachable` */
export async function serverKind(
  url: string,
  apiKey?: string,
  answerMs: number = asked.answerMs,
): Promise<ServerProtocol> {
  const faults: unknown[] = []
  for (const protocol of protocols)
    try {
      await callServer({ url, path: protocol.ownPath }, { ...asked, answerMs, apiKey })
      return protocol
    } catch (fault) {
      faults.push(fault)
    }
  const unreachable = faults.find((fault) => fault instanceof EngineFault && fault.kind === 'unreachable')
  throw (
    unreachable ??
    new EngineFault('unsupported', `${url} is no server of ${protocols.map(({ name }) => name).join(', ')}`)
  )
}

/** The options of a server's check. */
export interface ServerCheck {
  readonly url: string
  readonly protocol: ServerProtocol
  readonly apiKey?: string | undefined
  /** The checkpoint that it should serve; without one its weights are not looked at. */
  readonly checkpointDir?: string | undefined
  readonly contextLength: number
  /** The rank of adapters that are made for the check; absent: it loads none. Needs a checkpoint that is a whole model. */
  readonly adapterRank?: number | undefined
}

/** Checks a server, result by result. */
export async function* checkServer(of: ServerCheck): AsyncGenerator<CheckResult> {
  const said: string[] = []
  const engine = await openFor(of, (line) => said.push(line))
  try {
    const canary = await resultOf('its canary is right', async () => {
      await engine.load(0, of.checkpointDir ?? '')
      return said.join('; ')
    })
    yield canary
    if (!canary.ok) return
    for (const [check, look] of Object.entries(looks)) yield await resultOf(check, () => look(engine))
  } finally {
    await engine.close()
  }
  if (of.adapterRank !== undefined) yield* checkAdapters(of, of.adapterRank)
}

function openFor(
  of: ServerCheck,
  log: (line: string) => void,
  modelOf?: ServedEngineSettings['modelOf'],
): Promise<Engine> {
  const given =
    modelOf ??
    (of.checkpointDir === undefined
      ? async () => ({ vocabulary: Number.POSITIVE_INFINITY, score: undefined })
      : undefined)
  return openServedEngine(of.protocol, {
    ...{ run: 'check', urls: [of.url], apiKey: of.apiKey, contextLength: of.contextLength },
    ...{ answerMs: asked.answerMs, patienceMs: 0, log },
    ...(given === undefined ? {} : { modelOf: given }),
  })
}

/** With an engine of its own: the model that the server was started with is never in a batch with adapters. */
async function* checkAdapters(of: ServerCheck, rank: number): AsyncGenerator<CheckResult> {
  const said: string[] = []
  const { checkpointDir, protocol } = of
  if (checkpointDir === undefined || protocol.adapters === undefined) {
    const detail =
      checkpointDir === undefined
        ? 'give the model: --checkpoint'
        : `${protocol.name} loads none while it runs`
    yield { check: 'an adapter is loaded', ok: false, detail }
    return
  }
  await using adapters = await makeAdapters(checkpointDir, rank)
  const engine = await openFor(
    of,
    (line) => said.push(line),
    async (dir, version) => ({
      vocabulary: adapters.vocabulary,
      score: undefined,
      adapter: { name: `${version}-${process.pid}-${Date.now()}`, dir },
    }),
  )
  try {
    for (const [check, look] of Object.entries(adapterLooks(adapters, request))) {
      const result = await resultOf(check, () => look(engine))
      yield result
      if (!result.ok) return
    }
    const failed = said.filter((line) => line.includes('could not unload'))
    if (failed.length > 0) yield { check: 'adapters are unloaded', ok: false, detail: failed.join('; ') }
  } finally {
    await engine.close()
  }
}

const looks: Readonly<Record<string, (engine: Engine) => Promise<string>>> = {
  'as many tokens as asked, each with a logprob': async (engine) => {
    const { tokens } = await engine.sample(request())
    return `${tokens.length} tokens`
  },
  'the most likely tokens at temperature 0, twice the same': async (engine) => {
    const [first, second] = [
      await engine.sample(request({ temperature: 0 })),
      await engine.sample(request({ temperature: 0, cacheKey: 'another' })),
    ]
    if (first.tokens.join() !== second.tokens.join())
      throw new RangeError(`${first.tokens.join(' ')}, then ${second.tokens.join(' ')}`)
    const moved = first.logprobs.map((logprob, at) => Math.abs(logprob - (second.logprobs[at] as number)))
    return `logprobs within ${Math.max(...moved).toExponential(1)}`
  },
  'an end at the first stop token': async (engine) => {
    const free = await engine.sample(request({ temperature: 0 }))
    const stop = free.tokens[2] as number
    const { tokens, finish } = await engine.sample(request({ temperature: 0, stopTokens: [stop] }))
    if (finish !== 'stop' || tokens.at(-1) !== stop) throw new RangeError(`it went on: ${tokens.join(' ')}`)
    return `after ${tokens.length} tokens`
  },
  'requests of several episodes at once': async (engine) => {
    const all = await Promise.all(
      Array.from({ length: 16 }, (_, n) => engine.sample(request({ cacheKey: `${n}`, seed: n }))),
    )
    return `${all.length} answers, ${new Set(all.map(wordsOf)).size} of them different`
  },
  'a cancelled request ends, and the next one is served': async (engine) => {
    const controller = new AbortController()
    const cancelled = engine.sample(request({ maxNewTokens: 64 }), controller.signal).catch(() => undefined)
    controller.abort()
    await cancelled
    const { tokens } = await engine.sample(request())
    return `${tokens.length} tokens`
  },
}

function wordsOf({ tokens }: SampledTokens): string {
  return tokens.join()
}

function request(change: Partial<SamplingRequest> = {}): SamplingRequest {
  return {
    ...{ cacheKey: 'check', borders: [], version: 0, maxNewTokens: 8, temperature: 0.8 },
    ...{ context: Int32Array.of(40, 41, 42, 43), stopTokens: [], seed: 1 },
    ...change,
  }
}

async function resultOf(check: string, look: () => Promise<string>): Promise<CheckResult> {
  try {
    return { check, ok: true, detail: await look() }
  } catch (fault) {
    return { check, ok: false, detail: reasonOf(fault) }
  }
}
