/**
 * An engine whose servers run elsewhere: one or several of one kind, called over HTTP.
 *
 * Invariants
 * - [SERVED-1] A server is sampled from for a version once it is ready and its canary was found right; after it was
 *   lost it is asked for both again, for it may have come back with another model.
 * - [SERVED-2] A server that loads is waited for. If a server is lost while it samples, the request goes to another, or
 *   waits for it to come back; only after all that does the caller get a fault.
 * - [SERVED-3] Requests of one key go to one server while it can be used (`affinity.ts`).
 * - [SERVED-4] A request that is cancelled is closed at its server.
 * - [SERVED-5] Nothing that a server says is believed unchecked (`checked-answer.ts`).
 * - [SERVED-6] A version that is an adapter is loaded beside the others before its canary, every request names it, and it is unloaded
 *   once it is not needed and no request of it is open. A version that a server has lost is loaded again.
 * - [SERVED-7] A version is sampled from only once its canary was right beside those of the versions that are at the server already, all
 *   in one batch; so at each server versions are checked one after the other.
 * - [SERVED-8] Each try of a request has a name of its own: the server may still compute an earlier one, and refuse its name.
 * - [SERVED-9] A version that is a whole model is loaded in the place of the one before. A turn that this cuts keeps its tokens with the
 *   version that sampled them, and is continued by the next; where it must have one version alone it fails, and says so.
 * - After `close` a server is asked for nothing but to unload, or what ends an update of its weights, and every request that had no
 *   answer has failed.
 * - [SPANS-1] Every part continues the tokens before it, and ends where the whole would: at the first stop token, or at the limit of all.
 * - [SPANS-2] The draws of a part are its own: those of the beginning again would repeat it.
 * - Versions ascend from part to part.
 */

import { seedOf } from '../../identity/identity.ts'
import type { VersionSpan } from '../../learning/run/version-spans.ts'
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
} from '../engines/engine.ts'
import { Loads } from '../engines/loads.ts'
import { type CheckedPart, checkedPart, cutFault } from './checked-answer.ts'
import { Exchange } from './exchange.ts'
import { type FitServer, FitServers, supersededFault } from './fit-servers.ts'
import type { Ask, ServerProtocol } from './server-protocol.ts'
import { modelIn, type ServedModel } from './weights/served-model.ts'

/** A request is tried so often before the caller hears of it; by then every server was lost in turn. */
const triesPerServer = 2

export interface ServedEngineSettings extends Omit<EngineOptions, 'threads' | 'exact' | 'trains'> {
  /** Absent: servers keep what they were started with. */
  readonly trains?: boolean
  /** How long a server that loads is waited for. */
  readonly patienceMs?: number
  /** The model of a version; read from its checkpoint by default. */
  readonly modelOf?: (checkpointDir: string, version: string) => Promise<ServedModel>
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
  readonly #options: ServedEngineSettings & Required<Pick<ServedEngineSettings, 'modelOf'>>
  readonly #loads = new Loads()
  readonly #closing = new AbortController()
  readonly #exchange: Exchange
  readonly #servers: FitServers

  constructor(protocol: ServerProtocol, options: ServedEngineSettings) {
    this.capabilities = protocol.capabilities
    this.#protocol = protocol
    this.#options = { modelOf: modelIn, ...options }
    this.#exchange = new Exchange(protocol, options)
    this.#servers = new FitServers(
      protocol,
      { trains: false, ...this.#options },
      { exchange: this.#exchange, closing: this.#closing.signal },
    )
  }

  get versions(): readonly number[] {
    return this.#servers.versions
  }

  async load(version: number, checkpointDir: string): Promise<void> {
    if (this.#servers.has(version)) return
    await this.#loads.once(version, () => this.#load(version, checkpointDir))
  }

  async unload(version: number): Promise<void> {
    const adapter = this.#servers.modelOf(version)?.adapter
    this.#servers.forget(version)
    if (adapter !== undefined) await this.#servers.adapters.release(adapter)
  }

  async sample(request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens> {
    signal?.throwIfAborted()
    const closing = this.#closing.signal
    if (closing.aborted) throw closedFault()
    const maxNewTokens = roomFor(request, this.#options.contextLength)
    const ended = signal === undefined ? closing : AbortSignal.any([signal, closing])
    const id = request.id ?? this.#servers.ownId()
    const ask: Ask = { ...request, maxNewTokens, id, alternatives: 0 }
    const done = this.#servers.adapters.use(this.#servers.modelOf(request.version)?.adapter)
    try {
      return await this.#sampleSomewhere(request, ask, ended)
    } catch (fault) {
      if (closing.aborted) throw closedFault()
      signal?.throwIfAborted()
      throw fault
    } finally {
      done()
    }
  }

  release(cacheKey: string): void {
    this.#servers.release(cacheKey)
  }

  async statistics(): Promise<EngineStatistics> {
    if (this.#closing.signal.aborted) throw closedFault()
    return { ...this.#exchange.counts, ...this.#servers.load }
  }

  async close(): Promise<void> {
    this.#closing.abort(closedFault())
    await this.#servers.settled()
    await Promise.all(this.#servers.versions.map((version) => this.unload(version)))
  }

  async #load(version: number, checkpointDir: string): Promise<void> {
    if (this.#closing.signal.aborted) throw closedFault()
    const { modelOf, run } = this.#options
    const model = await modelOf(checkpointDir, `${run}@${version}`)
    if (version !== 0 && !this.#servers.canLoad(model))
      throw new EngineFault(
        'unsupported',
        `the engine ${this.#protocol.name} serves the one model that its server was started with, which is version 0; version ${version} needs another engine`,
      )
    // Another process may have brought a newer one meanwhile.
    if (this.#servers.has(version)) return
    const replaced = this.#servers.add(version, model)
    try {
      await this.#servers.anyFit(version)
    } catch (fault) {
      await this.unload(version)
      // Turns go on with what was there before, until the version is loaded again.
      if (this.versions.length === 0)
        for (const [older, itsModel] of replaced) this.#servers.add(older, itsModel)
      throw fault
    }
  }

  async #sampleSomewhere(
    { version, cacheKey, exactVersion = false }: SamplingRequest,
    ask: Ask,
    signal: AbortSignal,
  ): Promise<SampledTokens> {
    if (!this.#servers.has(version)) throw notLoadedFault(version)
    const spans = new SampledSpans(ask)
    const most = this.#servers.count * triesPerServer
    let [lost, fruitless] = [0, 0]
    for (let tried = 1; ; tried++) {
      const fit = await this.#servers.serverFor(version, cacheKey, signal)
      if (exactVersion && fit.version !== version)
        throw supersededFault(fit.server.name, version, fit.version)
      const id = tried === 1 ? ask.id : `${ask.id}.${tried}`
      try {
        const got = await this.#sampleFrom(fit, { ...spans.rest(), id }, { spans, signal })
        const whole = spans.whole()
        if (whole !== undefined) return whole
        this.#servers.doubt(fit)
        fruitless = got > 0 ? 0 : fruitless + 1
        if (fruitless >= most) throw cutFault(fit.server.name)
      } catch (refused) {
        signal.throwIfAborted()
        const fault = this.#servers.adapters.asLoss(refused, fit.model.adapter)
        if (!(fault instanceof EngineFault) || fault.kind !== 'unreachable') throw fault
        this.#servers.lose(fit.server, fault)
        if (++lost >= most) throw fault
      }
    }
  }

  /** Samples on, as far as the server goes. @returns tokens that came of it */
  async #sampleFrom(
    { server, version, model }: FitServer,
    rest: Ask,
    { spans, signal }: { readonly spans: SampledSpans; readonly signal: AbortSignal },
  ): Promise<number> {
    const { vocabulary } = model
    const ask = { ...rest, ...this.#servers.namesOf(model) }
    const answer = await this.#exchange.answer(server, ask, vocabulary, signal)
    const part = checkedPart(answer, { ask, vocabulary, name: server.name })
    spans.add(part, version)
    const { cachedTokens } = answer
    if (part.tokens.length > 0) this.#exchange.count({ tokens: part.tokens, cachedTokens }, ask)
    return part.tokens.length
  }
}

/** Sampled spans: an action that is sampled in parts, because servers cut it, and the version of each part. */
export class SampledSpans {
  readonly #ask: Ask
  #tokens = new Int32Array(0)
  #logprobs = new Float32Array(0)
  #spans: readonly VersionSpan[] = []
  #finish: SampledTokens['finish'] | undefined

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** The rest of the request. */
  rest(): Ask {
    const ask = this.#ask
    const { length } = this.#tokens
    if (length === 0) return ask
    return {
      ...ask,
      context: Int32Array.from([...ask.context, ...this.#tokens]),
      maxNewTokens: ask.maxNewTokens - length,
      seed: seedOf(ask.seed, 'rest', length),
    }
  }

  add({ tokens, logprobs, end }: CheckedPart, version: number): void {
    this.#tokens = Int32Array.from([...this.#tokens, ...tokens])
    this.#logprobs = Float32Array.from([...this.#logprobs, ...logprobs])
    if (tokens.length > 0) this.#spans = [...this.#spans, { version, tokens: tokens.length }]
    if (end !== 'cut') this.#finish = end
  }

  /** The action; undefined while it is not at its end. */
  whole(): SampledTokens | undefined {
    const spans = joined(this.#spans)
    const [first] = spans
    if (this.#finish === undefined || first === undefined) return undefined
    return {
      version: first.version,
      ...(spans.length === 1 ? {} : { spans }),
      tokens: this.#tokens,
      logprobs: this.#logprobs,
      finish: this.#finish,
    }
  }
}

/** Parts of one version that follow one another as one. */
function joined(spans: readonly VersionSpan[]): readonly VersionSpan[] {
  const all: VersionSpan[] = []
  for (const span of spans) {
    const last = all.at(-1)
    if (last?.version !== span.version) all.push(span)
    else all[all.length - 1] = { ...last, tokens: last.tokens + span.tokens }
  }
  return all
}
