/**
 * The engine inside this process: samplers on onnxruntime in threads of their own.
 *
 * A step of a small policy is too short to be shared: what its threads wait for each other costs more than they
 * compute. So each of them samples for episodes of its own. The weights of a large policy are held and read
 * once, and all threads share its steps.
 *
 * Invariants
 * - Requests of one key go to one thread while it lives, so that its cache serves them (`affinity.ts`).
 * - A version is there when all its threads have it.
 * - Threads run only for policies that are loaded.
 */
import { weightBytes } from '../checkpoints/checkpoint.ts'
import { Affinity } from '../engines/affinity.ts'
import {
  closedFault,
  type Engine,
  type EngineDefinition,
  type EngineStatistics,
  notLoadedFault,
  type SampledTokens,
  type SamplingRequest,
} from '../engines/engine.ts'
import { EngineThread } from './engine-thread.ts'

export interface EmbeddedEngineOptions {
  readonly threads: number
  /** Requests that are decoded at once; more than that take turns. */
  readonly maxBatch: number
  /** Tokens of a context at most, sampled ones included. */
  readonly contextLength: number
  /** Memory for contexts between turns; 512 MiB by default. */
  readonly cacheBytes?: number
  /** Whether the same request gives the same bytes whatever else is in flight or cached; true by default. */
  readonly exact?: boolean
  /** Weights up to this many bytes are held by each thread; 64 MiB by default. */
  readonly heldByEach?: number
}

/** Enough for 500 contexts of 256 tokens of the small default policy. */
const defaultCacheBytes = 512 * 2 ** 20
/** Several versions are loaded at once. */
const defaultHeldByEach = 64 * 2 ** 20
/** More than are in flight at once on any machine of today; more than that take turns. */
const defaultMaxBatch = 64

/** The engine in the policy worker. */
export const embeddedEngine: EngineDefinition = {
  name: 'embedded',
  capabilities: { versions: 'many', adapters: true, scoring: false, exact: true },
  open: ({ threads, contextLength, exact }) =>
    createEmbeddedEngine({ threads, contextLength, maxBatch: defaultMaxBatch, exact }),
}

/**
 * Starts an engine.
 * @example
 * const engine = await createEmbeddedEngine({ threads: 2, maxBatch: 32, contextLength: 1024 })
 * await engine.load(0, 'checkpoints/0')
 */
export async function createEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  return new EmbeddedEngine(options)
}

/** Threads that hold the same versions; one at least. */
type Crew = readonly EngineThread[]

export class EmbeddedEngine implements Engine {
  readonly capabilities = embeddedEngine.capabilities
  readonly #options: EmbeddedEngineOptions
  /** Each of its threads samples for itself. */
  #apart: Crew = []
  /** One sampler, whose steps all threads share. */
  #together: Crew = []
  readonly #crews = new Map<number, Crew>()
  readonly #threadOfKey = new Affinity<EngineThread>()
  #closed = false

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options
  }

  get versions(): readonly number[] {
    const whole = [...this.#crews].filter(([version, crew]) =>
      crew.every((one) => one.versions.includes(version)),
    )
    return whole.map(([version]) => version).sort((left, right) => left - right)
  }

  async load(version: number, checkpointDir: string): Promise<void> {
    const crew = this.#crews.get(version) ?? this.#crewFor(await weightBytes(checkpointDir))
    const loaded = await Promise.allSettled(crew.map((thread) => thread.load(version, checkpointDir)))
    const failed = loaded.find((each) => each.status === 'rejected')
    if (failed === undefined) {
      this.#crews.set(version, crew)
      return
    }
    await Promise.all(crew.map((thread) => thread.unload(version)))
    throw failed.reason
  }

  async unload(version: number): Promise<void> {
    const crew = this.#crews.get(version) ?? []
    this.#crews.delete(version)
    await Promise.all(crew.map((thread) => thread.unload(version)))
  }

  async sample(request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens> {
    if (this.#closed) throw closedFault()
    const crew = this.#crews.get(request.version)
    if (crew === undefined) throw notLoadedFault(request.version)
    return await this.#threadOfKey.placeOf(request.cacheKey, crew).sample(request, signal)
  }

  release(cacheKey: string): void {
    this.#threadOfKey.forget(cacheKey)?.release(cacheKey)
  }

  /** Counters since the threads started. */
  async statistics(): Promise<EngineStatistics> {
    if (this.#closed) throw closedFault()
    const each = await Promise.all(this.#threads().map((thread) => thread.statistics()))
    const sum = (of: keyof EngineStatistics): number => each.reduce((total, one) => total + one[of], 0)
    return {
      sampledTokens: sum('sampledTokens'),
      prefilledTokens: sum('prefilledTokens'),
      reusedTokens: sum('reusedTokens'),
      busySeconds: sum('busySeconds'),
      waiting: sum('waiting'),
      running: sum('running'),
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#threads().map((thread) => thread.close()))
  }

  #threads(): Crew {
    return [...this.#apart, ...this.#together]
  }

  #crewFor(bytes: number): Crew {
    if (this.#closed) throw closedFault()
    if (bytes > (this.#options.heldByEach ?? defaultHeldByEach)) {
      if (this.#together.length === 0) this.#together = this.#start(1)
      return this.#together
    }
    if (this.#apart.length === 0) this.#apart = this.#start(this.#options.threads)
    return this.#apart
  }

  #start(samplers: number): Crew {
    const { threads, maxBatch, contextLength, cacheBytes = defaultCacheBytes, exact = true } = this.#options
    const own = {
      threads: threads / samplers,
      maxBatch: Math.ceil(maxBatch / samplers),
      cacheBytes: cacheBytes / samplers,
    }
    return Array.from({ length: samplers }, () => new EngineThread({ ...own, contextLength, exact }))
  }
}
