/**
 * Fit servers: which servers of an engine may be sampled from, for which version.
 *
 * Invariants
 * - [FIT-1] A server that lost what it had, or may have got something else, is fit again only after its canary.
 * - [FIT-2] Where servers have one version at a time, the newest that is known here is what every turn is sampled from; one that another
 *   process has brought to a server is taken over.
 * - A version's model is kept as long as the version: an engine of the newest version alone keeps one.
 */
import { randomUUID } from 'node:crypto'
import { Affinity } from '../engines/affinity.ts'
import { EngineFault, notLoadedFault } from '../engines/engine.ts'
import { idsIn } from '../tokenizer/tokenless-ids.ts'
import { type AskCanary, type CanaryAnswer, checkCanary, checkTogether } from './canary.ts'
import { checkedAnswer } from './checked-answer.ts'
import type { AskedServer, Exchange } from './exchange.ts'
import { type Patience, untilReady } from './readiness.ts'
import { shown } from './server-call.ts'
import type { Ask, ServerProtocol } from './server-protocol.ts'
import { ServedAdapters } from './weights/served-adapters.ts'
import type { ServedModel } from './weights/served-model.ts'
import { advised, ServedWeights } from './weights/served-weights.ts'

/** A canary that is cut is asked again: versions follow one another far more slowly. */
const mostCuts = 5

export interface FitServersSettings extends Omit<Patience, 'signal'> {
  readonly run: string
  readonly urls: readonly string[]
  /** Whether versions that are whole models take one another's place. */
  readonly trains: boolean
  /** The model of a version. */
  readonly modelOf: (checkpointDir: string, version: string) => Promise<ServedModel>
}

/** One of the servers. */
interface Server extends AskedServer {
  /** The canary of each version that it was found fit for; an entry is removed when the server is lost. */
  readonly fit: Map<number, Promise<CanaryAnswer>>
  /** Versions of `fit` whose checks have ended well, with what they answered by themselves. */
  readonly ready: Map<number, CanaryAnswer>
  /** Settles when the check that was begun last has ended. */
  checked: Promise<void>
}

/** Where a turn may be sampled, and from what. */
export interface FitServer {
  readonly server: AskedServer
  readonly version: number
  readonly model: ServedModel
  /** By which it was found fit. */
  readonly canary: CanaryAnswer
}

export class FitServers {
  readonly adapters: ServedAdapters
  readonly #weights: ServedWeights
  readonly #protocol: ServerProtocol
  readonly #settings: FitServersSettings
  readonly #exchange: Exchange
  readonly #closing: AbortSignal
  readonly #servers: readonly Server[]
  readonly #models = new Map<number, ServedModel>()
  readonly #affinity = new Affinity<Server>()
  /** Tells its own requests from those of other processes of the run. */
  readonly #name = randomUUID().slice(0, 8)
  #asked = 0
  #waiting = 0

  constructor(
    protocol: ServerProtocol,
    settings: FitServersSettings,
    { exchange, closing }: { readonly exchange: Exchange; readonly closing: AbortSignal },
  ) {
    this.#protocol = protocol
    this.#settings = settings
    this.#exchange = exchange
    this.#closing = closing
    this.#servers = settings.urls.map((url) => ({
      url,
      name: `${protocol.name} at ${shown(url)}`,
      open: 0,
      fit: new Map(),
      ready: new Map(),
      checked: Promise.resolve(),
    }))
    this.adapters = new ServedAdapters(protocol.adapters, this.#servers, settings)
    this.#weights = new ServedWeights(settings.trains ? protocol.inPlace : undefined, settings)
  }

  get versions(): readonly number[] {
    return [...this.#models.keys()].sort((left, right) => left - right)
  }

  /** Requests that wait for a fit server, and that are at one. */
  get load(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.#waiting, running: this.#servers.reduce((sum, { open }) => sum + open, 0) }
  }

  get count(): number {
    return this.#servers.length
  }

  /** The model of a version that is loaded. */
  modelOf(version: number): ServedModel | undefined {
    return this.#models.get(version)
  }

  /** Whether a version needs no loading: it is loaded, or a newer one has taken its place. */
  has(version: number): boolean {
    return this.#servedFor(version) !== undefined
  }

  /** Whether servers can have it beside, or in the place of, what they were started with. */
  canLoad({ adapter, whole }: ServedModel): boolean {
    return this.adapters.nameOf(adapter) !== undefined || this.#weights.nameOf(whole) !== undefined
  }

  /** Makes a version known; where servers have one at a time, in the place of the others. @returns those */
  add(version: number, model: ServedModel): ReadonlyMap<number, ServedModel> {
    const isInPlace = this.#weights.nameOf(model.whole) !== undefined
    const replaced = new Map(isInPlace ? this.#models : [])
    for (const other of replaced.keys()) this.forget(other)
    this.#models.set(version, model)
    return replaced
  }

  forget(version: number): void {
    this.#models.delete(version)
    for (const { fit, ready } of this.#servers) {
      fit.delete(version)
      ready.delete(version)
    }
  }

  /** A server that is fit for the version, or for the one that has taken its place, once there is one. @throws EngineFault */
  async serverFor(version: number, key: string, signal: AbortSignal): Promise<FitServer> {
    this.#waiting++
    try {
      for (;;) {
        const served = this.#servedFor(version)
        const model = served === undefined ? undefined : this.#models.get(served)
        if (served === undefined || model === undefined) throw notLoadedFault(version)
        const ready = this.#servers.filter((each) => each.ready.has(served))
        const server = ready.length === 0 ? undefined : this.#affinity.placeOf(key, ready)
        const canary = server?.ready.get(served)
        if (server !== undefined && canary !== undefined) return { server, version: served, model, canary }
        await untilAborted(this.anyFit(version), signal)
      }
    } finally {
      this.#waiting--
    }
  }

  /** Settles with the first server that is fit for the version; the others go on getting so. */
  async anyFit(version: number): Promise<void> {
    for (;;) {
      const served = this.#servedFor(version)
      if (served === undefined) throw notLoadedFault(version)
      try {
        await Promise.any(this.#servers.map((server) => this.#fitness(server, served)))
        return
      } catch (failed) {
        if (!this.#closing.aborted && (this.#servedFor(version) ?? served) !== served) continue
        const faults = (failed as AggregateError).errors as readonly unknown[]
        // The fault that no retry can change says most.
        throw faults.find((fault) => fault instanceof EngineFault && fault.permanent) ?? faults[0]
      }
    }
  }

  /** The names that a request to a server needs. */
  namesOf({ adapter, whole, tokenless }: ServedModel): Pick<Ask, 'adapter' | 'weights' | 'excluded'> {
    return {
      adapter: this.adapters.nameOf(adapter),
      weights: this.#weights.nameOf(whole),
      ...(tokenless === undefined ? {} : { excluded: idsIn(tokenless) }),
    }
  }

  /** A name that no other request has. */
  ownId(): string {
    return `${this.#settings.run}/${this.#name}/${this.#asked++}`
  }

  release(key: string): void {
    this.#affinity.forget(key)
  }

  /** A server that does not answer: it is asked for everything again. */
  lose(at: AskedServer, fault: EngineFault): void {
    const server = this.#servers.find(({ url }) => url === at.url)
    if (server === undefined) return
    if (server.ready.size > 0) this.#settings.log(`${server.name} is lost for now: ${fault.message}`)
    server.fit.clear()
    server.ready.clear()
    server.checked = Promise.resolve()
    for (const version of this.#models.keys()) this.#fitness(server, version).catch(() => undefined)
  }

  /** A server that cut a turn may have another version now. */
  doubt({ server: at, version, model, canary }: FitServer): void {
    if (this.#weights.nameOf(model.whole) === undefined) return
    const server = this.#servers.find(({ url }) => url === at.url)
    // Several turns are cut at once.
    if (server === undefined || server.ready.get(version) !== canary) return
    server.fit.delete(version)
    server.ready.delete(version)
    this.#fitness(server, version).catch(() => undefined)
  }

  /** Waits until nothing is loaded or checked any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#servers.flatMap(({ fit }) => [...fit.values()]))
  }

  /** The version that turns of another are sampled from; undefined where there is none. */
  #servedFor(version: number): number | undefined {
    if (this.#models.has(version)) return version
    const inPlace = [...this.#models].find(([, { whole }]) => this.#weights.nameOf(whole) !== undefined)
    return inPlace !== undefined && inPlace[0] > version ? inPlace[0] : undefined
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
    const model = this.#models.get(version)
    if (model === undefined) throw notLoadedFault(version)
    const signal = this.#closing
    const isInPlace = this.#weights.nameOf(model.whole) !== undefined
    const { readyPath, inPlace } = this.#protocol
    const patience = { ...this.#settings, signal }
    if (!isInPlace || inPlace === undefined) await untilReady({ url, path: readyPath, name }, patience)
    // A paused server cannot say that it is ready.
    else await advised(inPlace, untilReady({ url, path: inPlace.statePath, name }, patience))
    await this.adapters.load(url, model.adapter, signal)
    await before
    for (let cuts = 1; ; cuts++) {
      if (isInPlace) await this.#bring(server, version, model)
      try {
        return await this.#checkedCanary(server, version, model)
      } catch (fault) {
        if (!(fault instanceof EngineFault) || fault.kind !== 'cut' || cuts === mostCuts) throw fault
      }
    }
  }

  /** @throws EngineFault `superseded`: the server has a newer version, which is known now */
  async #bring(server: Server, version: number, { whole }: ServedModel): Promise<void> {
    if (whole === undefined) return
    const { run, modelOf } = this.#settings
    const isNewest = this.#models.has(version)
    const has = isNewest ? await this.#weights.bring(server, whole, this.#closing) : undefined
    if (has?.version === version) return
    if (has !== undefined && !this.has(has.version)) {
      this.add(has.version, await modelOf(has.dir, `${run}@${has.version}`))
      for (const each of this.#servers) this.#fitness(each, has.version).catch(() => undefined)
    }
    throw supersededFault(server.name, version, has?.version)
  }

  async #checkedCanary(server: Server, version: number, model: ServedModel): Promise<CanaryAnswer> {
    const { name } = server
    const { vocabulary, score, unscored = 'they are not known here' } = model
    const { temperatureAdvice: advice } = this.#protocol
    const ask = this.#canaryOf(server, version, model)
    const { excluded } = this.namesOf(model)
    const { difference, alone } = await checkCanary(ask, { name, advice, vocabulary, excluded, score })
    const others = [...server.ready].flatMap(([other, answered]) => {
      const found = other === version ? undefined : this.#models.get(other)
      return found === undefined
        ? []
        : [{ version: other, ask: this.#canaryBeside(server, other, found), alone: answered }]
    })
    await checkTogether([{ version, ask, alone }, ...others], { name, vocabulary })
    this.#settings.log(
      `${name} serves version ${version}${difference === undefined ? `; its logprobs are not held against its weights: ${unscored}` : `; its logprobs are within ${difference.toPrecision(2)} of the weights' own`}`,
    )
    return alone
  }

  #canaryOf(server: Server, version: number, model: ServedModel): AskCanary {
    const { vocabulary } = model
    return async (canary) => {
      const ask: Ask = { ...this.namesOf(model), ...canary, id: this.ownId(), stopTokens: [] }
      const answer = await this.#exchange.answer(server, ask, vocabulary, this.#closing)
      const { name } = server
      const { tokens, logprobs } = checkedAnswer(answer, { ask, version, vocabulary, name })
      return { tokens: [...tokens], logprobs: [...logprobs], alternatives: answer.alternatives }
    }
  }

  /** The canary of a version that was right before. A version that the server has lost has none; it is loaded again when a turn needs it. */
  #canaryBeside(
    server: Server,
    version: number,
    model: ServedModel,
  ): (...asked: Parameters<AskCanary>) => Promise<CanaryAnswer | undefined> {
    const ask = this.#canaryOf(server, version, model)
    return async (canary) => {
      const done = this.adapters.use(model.adapter)
      try {
        return await ask(canary)
      } catch (fault) {
        if (this.adapters.asLoss(fault, model.adapter) === fault) throw fault
        server.ready.delete(version)
        server.fit.delete(version)
        return undefined
      } finally {
        done()
      }
    }
  }
}

/** The fault where a newer version has taken a version's place. */
export function supersededFault(name: string, version: number, newer: number | undefined): EngineFault {
  return new EngineFault(
    'superseded',
    `${name} has ${newer === undefined ? 'a newer version' : `version ${newer}`} now, and version ${version} is asked for: an engine of the newest version alone measures no earlier one; measure it with \`policy.engine: embedded\`, or at a server that was restarted`,
  )
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
