/**
 * An engine whose servers run elsewhere: one or several of one kind, called over HTTP.
 *
 * Invariants
 * - [SERVED-1] A server is sampled from for a version once it is ready and its canary was found right; after it was
 *   lost it is asked for both again, for it may have come back with another model.
 * - [SERVED-2] A server that loads is waited for. One that is lost while it samples makes the request go to another, or
 *   wait for it to come back; the caller is told so only after all that.
 * - [SERVED-3] Requests of one key go to one server while it can be used (`affinity.ts`).
 * - [SERVED-4] A request that is cancelled is closed at its server.
 * - [SERVED-5] Nothing that a server says is believed unchecked (`checked-answer.ts`).
 * - [SERVED-6] A version that is an adapter is loaded beside the others before its canary, every request names it, and it is unloaded
 *   once it is not needed and no request of it is open. What a server does not have any more is loaded again.
 * - [SERVED-7] A version is sampled from only once its canary was right beside those of the versions that are at the server already, all
 *   in one batch; so at each server versions are checked one after the other.
 * - [SERVED-8] Each try of a request has a name of its own: the server may still compute an earlier one, and refuse its name.
 * - After `close` a server is asked for nothing but to unload, and every request that had no answer has failed.
 */
import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../faults/reason.ts'
import { Affinity } from './affinity.ts'
import { type AskCanary, type CanaryAnswer, checkCanary, checkTogether } from './canary.ts'
import { checkedAnswer } from './checked-answer.ts'
import {
  closedFault,
  type Engine,
  EngineFault,
  type EngineOptions,
  type EngineStatistics,
  notLoadedFault,
  roomFor,
  type SampledTokens,
  type SamplingRequest,
} from './engine.ts'
import { Loads } from './loads.ts'
import { untilReady } from './readiness.ts'
import { ServedAdapters } from './served-adapters.ts'
import { modelIn, type ServedModel } from './served-model.ts'
import { callForText, callServer, shown } from './server-call.ts'
import type { Answer, Ask, ServerProtocol } from './server-protocol.ts'
import { withUntold } from './untold-logprobs.ts'

/** A request is tried so often before the caller hears of it; by then every server was lost in turn. */
const triesPerServer = 2
/** A server that answers at all takes an abort at once. */
const abortMs = 10_000
/** What an answer has at most: its frame, and for each token names, bytes and numbers of those that are told with it. */
const frameBytes = 2 ** 20
const tokenBytes = 4096
/** Tokens of the largest vocabularies in use. */
const mostListed = 2 ** 18

export interface ServedEngineSettings extends Omit<EngineOptions, 'threads' | 'exact'> {
  /** How long a server that loads is waited for. */
  readonly patienceMs?: number
  /** What is known of a version; read from its checkpoint by default. */
  readonly modelOf?: (checkpointDir: string, version: string) => Promise<ServedModel>
}

/** One of the servers. */
interface Server {
  readonly url: string
  readonly name: string
  /** Requests that have no answer yet. */
  open: number
  /** What it was found fit for, by version; an entry is taken out when the server is lost. */
  readonly fit: Map<number, Promise<CanaryAnswer>>
  /** Versions of `fit` whose checks have ended well, with what they answered by themselves. */
  readonly ready: Map<number, CanaryAnswer>
  /** Settles when the check that was begun last has ended. */
  checked: Promise<void>
}

/** Opens an engine; its servers are first asked when a version is loaded. */
export async function openServedEngine(
  protocol: ServerProtocol,
  options: ServedEngineSettings,
): Promise<ServedEngine> {
  if (options.urls.length === 0)
    throw new EngineFault('unsupported', `the engine ${protocol.name} has no server: give policy.engineUrl`)
  return new ServedEngine(protocol, options)
}

export class ServedEngine implements Engine {
  readonly capabilities
  readonly #protocol: ServerProtocol
  readonly #options: ServedEngineSettings
  readonly #servers: readonly Server[]
  readonly #versions = new Map<number, ServedModel>()
  readonly #loads = new Loads()
  readonly #affinity = new Affinity<Server>()
  readonly #closing = new AbortController()
  readonly #adapters: ServedAdapters
  /** Tells its own requests from those of other processes of the run. */
  readonly #name = randomUUID().slice(0, 8)
  #asked = 0
  #waiting = 0
  #counts = { sampledTokens: 0, prefilledTokens: 0, reusedTokens: 0, busySeconds: 0 }

  constructor(protocol: ServerProtocol, options: ServedEngineSettings) {
    this.capabilities = protocol.capabilities
    this.#protocol = protocol
    this.#options = options
    this.#servers = options.urls.map((url) => ({
      url,
      name: `${protocol.name} at ${shown(url)}`,
      open: 0,
      fit: new Map(),
      ready: new Map(),
      checked: Promise.resolve(),
    }))
    this.#adapters = new ServedAdapters(protocol.adapters, this.#servers, options)
  }

  get versions(): readonly number[] {
    return [...this.#versions.keys()].sort((left, right) => left - right)
  }

  async load(version: number, checkpointDir: string): Promise<void> {
    if (this.#versions.has(version)) return
    await this.#loads.once(version, () => this.#load(version, checkpointDir))
  }

  async unload(version: number): Promise<void> {
    const adapter = this.#versions.get(version)?.adapter
    this.#versions.delete(version)
    for (const { fit, ready } of this.#servers) {
      fit.delete(version)
      ready.delete(version)
    }
    if (adapter !== undefined) await this.#adapters.release(adapter)
  }

  async sample(request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens> {
    signal?.throwIfAborted()
    const closing = this.#closing.signal
    if (closing.aborted) throw closedFault()
    const maxNewTokens = roomFor(request, this.#options.contextLength)
    const ended = signal === undefined ? closing : AbortSignal.any([signal, closing])
    const ask: Ask = { ...request, maxNewTokens, id: request.id ?? this.#ownId(), alternatives: 0 }
    const done = this.#adapters.use(this.#versions.get(request.version)?.adapter)
    try {
      return await this.#sampleSomewhere(request.version, request.cacheKey, ask, ended)
    } catch (fault) {
      if (closing.aborted) throw closedFault()
      signal?.throwIfAborted()
      throw fault
    } finally {
      done()
    }
  }

  release(cacheKey: string): void {
    this.#affinity.forget(cacheKey)
  }

  async statistics(): Promise<EngineStatistics> {
    if (this.#closing.signal.aborted) throw closedFault()
    const running = this.#servers.reduce((sum, { open }) => sum + open, 0)
    return { ...this.#counts, waiting: this.#waiting, running }
  }

  async close(): Promise<void> {
    this.#closing.abort(closedFault())
    await Promise.allSettled(this.#servers.flatMap(({ fit }) => [...fit.values()]))
    await Promise.all([...this.#versions.keys()].map((version) => this.unload(version)))
  }

  async #load(version: number, checkpointDir: string): Promise<void> {
    if (this.#closing.signal.aborted) throw closedFault()
    const { modelOf = modelIn, run } = this.#options
    const { adapters, name } = this.#protocol
    const model = await modelOf(checkpointDir, `${run}@${version}`)
    if (version !== 0 && (model.adapter === undefined || adapters === undefined))
      throw new EngineFault(
        'unsupported',
        `the engine ${name} serves the one model that its server was started with, which is version 0; version ${version} needs another engine`,
      )
    this.#versions.set(version, model)
    try {
      await this.#anyFit(version)
    } catch (fault) {
      await this.unload(version)
      throw fault
    }
  }

  async #sampleSomewhere(
    version: number,
    key: string,
    ask: Ask,
    signal: AbortSignal,
  ): Promise<SampledTokens> {
    // A version that is unloaded meanwhile stays until its turns have ended.
    const model = this.#versions.get(version)
    if (model === undefined) throw notLoadedFault(version)
    const { vocabulary } = model
    const most = this.#servers.length * triesPerServer
    for (let tried = 1; ; tried++) {
      const server = await this.#serverFor(version, key, signal)
      try {
        const id = tried === 1 ? ask.id : `${ask.id}.${tried}`
        const own = { ...ask, id, adapter: this.#adapters.nameOf(model.adapter) }
        const answer = await this.#answer(server, own, vocabulary, signal)
        const sampled = checkedAnswer(answer, { ask, version, vocabulary, name: server.name })
        this.#count(answer, ask)
        return sampled
      } catch (refused) {
        signal.throwIfAborted()
        const fault = this.#adapters.asLoss(refused, model.adapter)
        if (!(fault instanceof EngineFault) || fault.kind !== 'unreachable') throw fault
        this.#lose(server, fault)
        if (tried >= most) throw fault
      }
    }
  }

  /** A server that is fit for the version, once there is one. */
  async #serverFor(version: number, key: string, signal: AbortSignal): Promise<Server> {
    if (!this.#versions.has(version)) throw notLoadedFault(version)
    const ready = () => this.#servers.filter((server) => server.ready.has(version))
    this.#waiting++
    try {
      while (ready().length === 0) await untilAborted(this.#anyFit(version), signal)
    } finally {
      this.#waiting--
    }
    return this.#affinity.placeOf(key, ready())
  }

  /** Settles with the first server that is fit for the version; the others go on getting so. */
  async #anyFit(version: number): Promise<void> {
    try {
      await Promise.any(this.#servers.map((server) => this.#fitness(server, version)))
    } catch (failed) {
      const faults = (failed as AggregateError).errors as readonly unknown[]
      // What no try can change says most.
      throw faults.find((fault) => fault instanceof EngineFault && fault.permanent) ?? faults[0]
    }
  }

  #fitness(server: Server, version: number): Promise<CanaryAnswer> {
    const known = server.fit.get(version)
    if (known !== undefined) return known
    const fitness = this.#becomeFit(server, version, server.checked)
    server.fit.set(version, fitness)
    server.checked = fitness.then(
      (alone) => {
        if (server.fit.get(version) === fitness) server.ready.set(version, alone)
      },
      () => {
        if (server.fit.get(version) === fitness) server.fit.delete(version)
      },
    )
    return fitness
  }

  async #becomeFit(server: Server, version: number, before: Promise<void>): Promise<CanaryAnswer> {
    const { url, name } = server
    const model = this.#versions.get(version) as ServedModel
    const { vocabulary, score, unscored = 'they are not known here' } = model
    const { temperatureAdvice: advice, readyPath: path } = this.#protocol
    const signal = this.#closing.signal
    await untilReady({ url, path, name }, { ...this.#options, signal })
    await this.#adapters.load(url, model.adapter, signal)
    await before
    const ask = this.#canaryOf(server, version, model)
    const { difference, alone } = await checkCanary(ask, { name, advice, vocabulary, score })
    const others = [...server.ready].flatMap(([other, answered]) => {
      const found = other === version ? undefined : this.#versions.get(other)
      return found === undefined
        ? []
        : [{ version: other, ask: this.#canaryBeside(server, other, found), alone: answered }]
    })
    await checkTogether([{ version, ask, alone }, ...others], { name, vocabulary })
    this.#options.log(
      `${name} serves version ${version}${difference === undefined ? `; its logprobs are not held against its weights: ${unscored}` : `; its logprobs are within ${difference.toPrecision(2)} of the weights' own`}`,
    )
    return alone
  }

  #canaryOf(server: Server, version: number, { adapter, vocabulary }: ServedModel): AskCanary {
    return async (canary) => {
      const named = { id: this.#ownId(), adapter: this.#adapters.nameOf(adapter) }
      const ask: Ask = { ...canary, ...named, stopTokens: [] }
      const answer = await this.#answer(server, ask, vocabulary, this.#closing.signal)
      const { name } = server
      const { tokens, logprobs } = checkedAnswer(answer, { ask, version, vocabulary, name })
      return { tokens: [...tokens], logprobs: [...logprobs], alternatives: answer.alternatives }
    }
  }

  /** The canary of a version that was right before. One that the server has lost has none; it is loaded again when a turn needs it. */
  #canaryBeside(
    server: Server,
    version: number,
    model: ServedModel,
  ): (...asked: Parameters<AskCanary>) => Promise<CanaryAnswer | undefined> {
    const ask = this.#canaryOf(server, version, model)
    return async (canary) => {
      const done = this.#adapters.use(model.adapter)
      try {
        return await ask(canary)
      } catch (fault) {
        if (this.#adapters.asLoss(fault, model.adapter) === fault) throw fault
        server.ready.delete(version)
        server.fit.delete(version)
        return undefined
      } finally {
        done()
      }
    }
  }

  /** An answer with a logprob for each of its tokens, where the server can tell it. @throws EngineFault */
  async #answer(server: Server, ask: Ask, vocabulary: number, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#call(server, ask, signal)
    return withUntold(answer, ask, {
      vocabulary: Math.min(vocabulary, mostListed),
      call: (more) => this.#call(server, more, signal),
    })
  }

  /** @throws EngineFault */
  async #call(server: Server, ask: Ask, signal: AbortSignal): Promise<Answer> {
    const { apiKey, answerMs } = this.#options
    const answerBytes =
      frameBytes + tokenBytes * ask.maxNewTokens * (1 + ask.alternatives) + 16 * ask.context.length
    const began = performance.now()
    server.open++
    try {
      const answered = await callServer(
        { url: server.url, ...this.#protocol.request(ask) },
        { apiKey, answerMs, answerBytes, signal },
      )
      return this.#read(server, answered, ask)
    } catch (fault) {
      if (signal.aborted) this.#abort(server, ask.id)
      throw fault
    } finally {
      server.open--
      this.#counts.busySeconds += (performance.now() - began) / 1000
    }
  }

  /** Nothing waits for it: what is not aborted ends by itself. */
  #abort({ url }: Server, id: string): void {
    const request = this.#protocol.abort?.(id)
    if (request === undefined) return
    const { apiKey } = this.#options
    const calling = callForText({ url, ...request }, { apiKey, answerMs: abortMs, answerBytes: frameBytes })
    calling.catch(() => undefined)
  }

  #read(server: Server, answered: unknown, ask: Ask): Answer {
    try {
      return this.#protocol.read(answered, ask)
    } catch (cause) {
      throw new EngineFault(
        'wrong_answer',
        `${server.name} answered in a form that is not ${this.#protocol.name}'s (${reasonOf(cause).replaceAll(/\s+/g, ' ').slice(0, 300)}); is policy.engine what runs there?`,
        { cause },
      )
    }
  }

  #lose(server: Server, fault: EngineFault): void {
    if (server.ready.size > 0) this.#options.log(`${server.name} is lost for now: ${fault.message}`)
    server.fit.clear()
    server.ready.clear()
    server.checked = Promise.resolve()
    for (const version of this.#versions.keys()) this.#fitness(server, version).catch(() => undefined)
  }

  #count({ tokens, cachedTokens }: Answer, { context }: Ask): void {
    this.#counts.sampledTokens += tokens.length
    this.#counts.reusedTokens += cachedTokens
    this.#counts.prefilledTokens += context.length - cachedTokens
  }

  #ownId(): string {
    return `${this.#options.run}/${this.#name}/${this.#asked++}`
  }
}

/** The work's result, or the signal's reason as soon as it aborts. */
async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
