/**
 * Continuous batching: many requests of several policy versions, one step at a time.
 *
 * A request waits for a slot, takes over what is cached of its own key's context, is prefilled in chunks,
 * decoded with all others of its version and capacity, and leaves its keys and values in the cache for the
 * next turn. `step` runs what `scheduler.ts` chooses; nothing happens between calls.
 *
 * Invariants
 * - Every request ends once: with its tokens, with a fault, or silently when it was cancelled.
 * - Where results must be exact, the same request gives the same bytes whatever else is in flight and whatever is
 *   cached: each turn's part of the context, the sampled tokens of the turn before included, is prefilled for
 *   itself, and only whole parts are kept.
 * - No step mixes versions; each version with work gets its turn.
 * - No step mixes requests that yield with those that do not.
 */
import {
  EngineFault,
  type EngineStatistics,
  type SampledTokens,
  type SamplingRequest,
} from '../engines/engine.ts'
import { type Architecture, beyondWindow, type Weights } from '../transformer/architecture.ts'
import { Batch } from './batch.ts'
import { type Job, jobOf } from './job.ts'
import { type Draws, type PrefillRow, releaseVersion, SamplingModel, type VersionWeights } from './model.ts'
import { capacityFor, PrefixCache } from './prefix-cache.ts'
import { RunningBatch } from './running-batch.ts'
import { chooseOffer, type Offer, planPrefill } from './scheduler.ts'
import { SpareBatches } from './spare-batches.ts'

export interface SamplerOptions {
  readonly threads: number
  /** Slots of a batch: rows of one decode step; two at least. */
  readonly maxBatch: number
  /** Tokens of a context at most, sampled ones included. */
  readonly contextLength: number
  /** Memory for contexts between turns; unused batches may take half as much. */
  readonly cacheBytes: number
  /**
   * Whether the same request gives the same bytes whatever else is in flight or cached; true by default. Without
   * it logprobs may differ by rounding, and sampled tokens are not fed a second time.
   */
  readonly exact?: boolean
  /** See `SamplingModel.create`. */
  readonly mostStored?: number
}

/** How a request ended. */
export type Ending =
  | { readonly id: number; readonly result: SampledTokens }
  | { readonly id: number; readonly fault: EngineFault }

/** Longer chunks are no faster and keep decoding rows waiting. */
const prefillLimits = { chunk: 256, padded: 1024 } as const
/** Room left beyond the context, so that a short action rarely outgrows its batch. */
const decodeRoom = 16

interface LoadedArchitecture {
  readonly model: SamplingModel
  readonly cache: PrefixCache
  readonly spare: SpareBatches
}

interface LoadedVersion {
  readonly shared: LoadedArchitecture
  readonly weights: VersionWeights
  readonly waiting: Job[]
  readonly running: RunningBatch[]
}

interface StepOffer extends Offer {
  readonly loaded: LoadedVersion
  readonly running: RunningBatch
}

export class Sampler {
  readonly #options: SamplerOptions
  readonly #exact: boolean
  readonly #architectures = new Map<string, Promise<LoadedArchitecture>>()
  readonly #versions = new Map<number, LoadedVersion>()
  readonly #jobs = new Map<number, Job>()
  /** Weights of versions that are unloaded; a step may still read them. */
  readonly #retired: VersionWeights[] = []
  #stepping = false
  #endings: Ending[] = []
  #sampled = 0
  #prefilled = 0
  #reused = 0
  #busyMs = 0

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#exact = options.exact ?? true
  }

  /** @throws RuntimeFault, RangeError weights that do not fit their architecture, contexts beyond its window */
  async load(version: number, architecture: Architecture, weights: Weights): Promise<void> {
    if (this.#versions.has(version)) return
    const beyond = beyondWindow(architecture, this.#options.contextLength)
    if (beyond !== undefined) throw new RangeError(`${beyond}: lower policy.contextLength`)
    const key = JSON.stringify(architecture)
    let shared = this.#architectures.get(key)
    if (shared === undefined) {
      shared = this.#prepare(architecture)
      this.#architectures.set(key, shared)
      shared.catch(() => this.#architectures.delete(key))
    }
    const { model } = await shared
    const prepared = await model.prepare(weights)
    if (this.#versions.has(version)) return await releaseVersion(prepared)
    this.#versions.set(version, {
      shared: await shared,
      weights: prepared,
      waiting: [],
      running: [],
    })
  }

  /** Forgets a version; its requests end with a fault at the next step. */
  unload(version: number): void {
    const loaded = this.#versions.get(version)
    if (loaded === undefined) return
    this.#versions.delete(version)
    loaded.shared.cache.unload(version)
    for (const running of loaded.running) {
      for (const [, job] of running.entries()) this.#failUnloaded(job)
      loaded.shared.spare.put(running.batch)
    }
    for (const job of loaded.waiting) this.#failUnloaded(job)
    loaded.running.length = 0
    loaded.waiting.length = 0
    this.#retired.push(loaded.weights)
    if (!this.#stepping) void this.#releaseRetired()
  }

  /** @throws EngineFault */
  submit(id: number, request: SamplingRequest): void {
    const loaded = this.#versions.get(request.version)
    if (loaded === undefined) throw versionFault(request.version)
    const { vocab_size: vocabulary } = loaded.shared.model.architecture
    const job = jobOf(id, request, { contextLength: this.#options.contextLength, vocabulary })
    this.#jobs.set(id, job)
    loaded.waiting.push(job)
  }

  /** The request ends silently. */
  cancel(id: number): void {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    job.cancelled = true
    this.#jobs.delete(id)
  }

  /** Drops the caches of a key. */
  async release(cacheKey: string): Promise<void> {
    for (const shared of this.#architectures.values()) (await shared).cache.release(cacheKey)
  }

  /** True while some request has not ended. */
  get busy(): boolean {
    return this.#jobs.size > 0 || this.#endings.length > 0
  }

  get statistics(): EngineStatistics {
    let running = 0
    let waiting = 0
    for (const loaded of this.#versions.values()) {
      for (const job of loaded.waiting) if (!job.cancelled) waiting++
      for (const batch of loaded.running) for (const [, job] of batch.entries()) if (!job.cancelled) running++
    }
    return {
      sampledTokens: this.#sampled,
      prefilledTokens: this.#prefilled,
      reusedTokens: this.#reused,
      busySeconds: this.#busyMs / 1000,
      waiting,
      running,
    }
  }

  /**
   * Admits what waits, runs one step and gives the requests that ended.
   * @throws RuntimeFault the runtime failed; the sampler cannot be used any more
   */
  async step(): Promise<readonly Ending[]> {
    const startedAt = performance.now()
    this.#stepping = true
    for (const [version, loaded] of this.#versions) {
      this.#dropCancelled(loaded)
      this.#admit(version, loaded)
    }
    const offers = this.#offers()
    const chosen = chooseOffer(offers)
    if (chosen !== undefined) {
      for (const offer of offers) offer.running.age[offer.kind] = offer === chosen ? 0 : offer.age + 1
      await (chosen.kind === 'prefill' ? this.#prefill(chosen) : this.#decode(chosen))
    }
    this.#stepping = false
    await this.#releaseRetired()
    this.#busyMs += performance.now() - startedAt
    const endings = this.#endings
    this.#endings = []
    return endings
  }

  async close(): Promise<void> {
    for (const { weights } of this.#versions.values()) await releaseVersion(weights)
    this.#versions.clear()
    await this.#releaseRetired()
    for (const shared of this.#architectures.values()) await (await shared).model.close()
  }

  async #releaseRetired(): Promise<void> {
    for (const weights of this.#retired.splice(0)) await releaseVersion(weights)
  }

  async #prepare(architecture: Architecture): Promise<LoadedArchitecture> {
    const model = await SamplingModel.create(architecture, {
      ...this.#options,
      prefillTokens: prefillLimits.padded,
    })
    const { cacheBytes } = this.#options
    const cache = new PrefixCache({ floatsPerPosition: model.floatsPerPosition, budgetBytes: cacheBytes })
    return { model, cache, spare: new SpareBatches(cacheBytes / 2) }
  }

  #failUnloaded(job: Job): void {
    if (this.#jobs.delete(job.id))
      this.#endings.push({ id: job.id, fault: versionFault(job.request.version) })
    job.cancelled = true
  }

  #dropCancelled(loaded: LoadedVersion): void {
    for (let index = loaded.waiting.length - 1; index >= 0; index--)
      if (loaded.waiting[index]?.cancelled) loaded.waiting.splice(index, 1)
    for (const running of [...loaded.running])
      for (const [slot, job] of running.entries()) if (job.cancelled) this.#leave(loaded, running, slot)
  }

  /** Gives waiting requests a slot, the oldest first; those whose batch is full wait on. */
  #admit(version: number, loaded: LoadedVersion): void {
    const { cache } = loaded.shared
    let kept = 0
    for (const job of loaded.waiting) {
      const room = Math.min(job.tokens.length, job.length + decodeRoom)
      const running = this.#batchWithRoom(loaded, { capacity: capacityFor(room), background: job.background })
      if (running === undefined) {
        loaded.waiting[kept++] = job
        continue
      }
      const { batch } = running
      const slot = running.seat(job, 'prefilling')
      batch.setDrawing(slot, job)
      const found = cache.find(job.request.cacheKey, version, job.request.context)
      const reused = found === undefined ? 0 : this.#usable(job, found.length)
      if (found === undefined || reused === 0) batch.setLength(slot, 0)
      else batch.restore(slot, found.entry.data, found.entry.capacity, reused)
      this.#reused += reused
      // A decode step may read a single token, too; a step of its own would read all weights for it.
      if (this.#exact || reused + 1 < job.length) continue
      running.startDecoding(slot)
      batch.setNext(slot, job.tokens[reused] as number, job.nextUniform())
      this.#prefilled++
    }
    loaded.waiting.length = kept
  }

  /** How much of a cached prefix serves: all of it, or where results must be exact whole parts of it. */
  #usable(job: Job, length: number): number {
    return this.#exact ? (job.request.borders.findLast((border) => border <= length) ?? 0) : length
  }

  /** @param another whether a second batch of that kind may be opened */
  #batchWithRoom(
    loaded: LoadedVersion,
    { capacity, background }: { readonly capacity: number; readonly background: boolean },
    another = false,
  ): RunningBatch | undefined {
    const like = loaded.running.filter(
      (running) => running.batch.capacity === capacity && running.background === background,
    )
    const open = like.find(({ full }) => !full)
    if (open !== undefined || (like.length > 0 && !another)) return open
    const { spare, model } = loaded.shared
    const batch = spare.take(capacity) ?? new Batch(model.architecture, capacity, this.#options.maxBatch)
    const running = new RunningBatch(batch, background)
    loaded.running.push(running)
    return running
  }

  #offers(): readonly StepOffer[] {
    const offers: StepOffer[] = []
    for (const loaded of this.#versions.values()) {
      for (const running of loaded.running) {
        const { prefilling, decoding, age, background } = running
        const offer = { background, loaded, running }
        if (prefilling > 0) offers.push({ ...offer, kind: 'prefill', rows: prefilling, age: age.prefill })
        if (decoding > 0) offers.push({ ...offer, kind: 'decode', rows: decoding, age: age.decode })
      }
    }
    return offers
  }

  async #prefill({ loaded, running }: StepOffer): Promise<void> {
    const { batch } = running
    const group = planPrefill(running.pending(this.#exact), prefillLimits)
    const rows = group.slots.map(({ slot, tokens }): PrefillRow => {
      const job = running.jobAt(slot)
      const start = batch.lengths[slot] as number
      const chunk = { slot, tokens: job.tokens.subarray(start, start + tokens) }
      if (start + tokens < job.length) return chunk
      const { inverseTemperature, greedy } = job
      return { ...chunk, draw: { inverseTemperature, greedy, uniform: job.nextUniform() } }
    })
    const draws = await loaded.shared.model.prefill(batch, rows, group.fresh, loaded.weights)
    if (loaded.running.length === 0) return // unloaded meanwhile
    let drawn = 0
    for (const { slot, tokens, draw } of rows) {
      this.#prefilled += tokens.length
      if (draw === undefined) continue
      running.startDecoding(slot)
      this.#accept(loaded, running, slot, draws, drawn++)
    }
  }

  async #decode({ loaded, running }: StepOffer): Promise<void> {
    running.closeRanks()
    const { batch, width } = running
    await loaded.shared.model.decode(batch, width, loaded.weights)
    if (loaded.running.length === 0) return // unloaded meanwhile
    for (let slot = 0; slot < width; slot++) {
      if (!running.isDecoding(slot)) continue
      batch.lengthen(slot)
      this.#accept(loaded, running, slot, batch, slot)
    }
  }

  /** Takes the token drawn for a slot; the request ends or gets its next decode step's inputs. */
  #accept(loaded: LoadedVersion, running: RunningBatch, slot: number, draws: Draws, place: number): void {
    const job = running.jobAt(slot)
    const token = draws.tokens[place] as number
    const probability = draws.probabilities[place] as number
    const result = job.accept(token, Math.log(probability))
    this.#sampled++
    if (result === undefined) {
      this.#makeRoom(loaded, running, slot, token, job.nextUniform())
      return
    }
    this.#leave(loaded, running, slot)
    if (this.#jobs.delete(job.id)) this.#endings.push({ id: job.id, result })
  }

  /** Sets a slot's next decode step; a slot that is full moves on to a batch of the next capacity. */
  #makeRoom(
    loaded: LoadedVersion,
    running: RunningBatch,
    slot: number,
    token: number,
    uniform: number,
  ): void {
    const { batch } = running
    const length = batch.lengths[slot] as number
    if (length < batch.capacity) {
      batch.setNext(slot, token, uniform)
      return
    }
    const wanted = { capacity: capacityFor(length + 1), background: running.background }
    const target = this.#batchWithRoom(loaded, wanted, true) as RunningBatch
    const to = target.seat(running.jobAt(slot), 'decoding')
    batch.copyTo(target.batch, slot, to)
    target.batch.setNext(to, token, uniform)
    running.vacate(slot)
    this.#closeWhenEmpty(loaded, running)
  }

  /** Keeps what a slot computed for the key's next turn and empties it. */
  #leave(loaded: LoadedVersion, running: RunningBatch, slot: number): void {
    const job = running.jobAt(slot)
    const { cacheKey, version, context } = job.request
    const fed = running.batch.lengths[slot] as number
    const length = this.#exact ? Math.min(fed, context.length) : fed
    const kept = loaded.shared.cache.store(cacheKey, version, job.tokens, length)
    if (kept !== undefined) running.batch.save(slot, kept.entry.data, kept.entry.capacity, kept.from, length)
    running.vacate(slot)
    this.#closeWhenEmpty(loaded, running)
  }

  #closeWhenEmpty(loaded: LoadedVersion, running: RunningBatch): void {
    if (!running.empty) return
    loaded.running.splice(loaded.running.indexOf(running), 1)
    loaded.shared.spare.put(running.batch)
  }
}

function versionFault(version: number): EngineFault {
  return new EngineFault(
    'version_not_loaded',
    `policy version ${version} is not loaded: load it before sampling from it`,
  )
}
