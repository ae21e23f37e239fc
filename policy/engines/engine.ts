/**
 * The contract of an inference engine: a function of (context tokens, policy version, sampling
 * parameters, seed) to (tokens, logprobs).
 *
 * Invariants
 * - The logprobs are those of the named version for the very tokens returned, at the asked temperature.
 * - An exact engine gives the same bytes for the same request, whatever else is in flight or cached.
 * - Caches only save work: dropping one at any time changes no result beyond float rounding.
 */
import { Fault } from '../../faults/fault.ts'

/** One action to sample. */
export interface SamplingRequest {
  /** Names the growing context (the episode's id); requests of one key extend each other and reuse its cache. */
  readonly cacheKey: string
  /** [time] token ids, the whole context so far. */
  readonly context: Int32Array
  /**
   * Lengths that the context had at the earlier turns of its key, ascending. An exact engine cuts its sums there,
   * so that computing a context anew, as after a crash, rounds as growing it from turn to turn did.
   */
  readonly borders: readonly number[]
  /** The policy version to sample from; must have been loaded. */
  readonly version: number
  readonly maxNewTokens: number
  /** 0 takes the most likely token; its logprobs are those at temperature 1. */
  readonly temperature: number
  /** Sampling ends with the first of these, which is part of the result. */
  readonly stopTokens: readonly number[]
  /** 32-bit seed of the draws, from the turn's identity. */
  readonly seed: number
  /** Whether it yields: others go first wherever they wait, but it is never kept from its end. */
  readonly background?: boolean
}

/** What was sampled. */
export interface SampledTokens {
  readonly version: number
  /** [newTokens] */
  readonly tokens: Int32Array
  /** [newTokens] natural logarithms. */
  readonly logprobs: Float32Array
  readonly finish: 'stop' | 'length'
}

/** Counters since the engine started, for live views and benchmarks. */
export interface EngineStatistics {
  readonly sampledTokens: number
  readonly prefilledTokens: number
  readonly reusedTokens: number
  readonly busySeconds: number
  readonly waiting: number
  readonly running: number
}

export interface Engine {
  /** Makes a version available; loading a loaded one does nothing. @throws CheckpointFault */
  load(version: number, checkpointDir: string): Promise<void>
  /** Forgets a version and its caches. */
  unload(version: number): Promise<void>
  readonly versions: readonly number[]
  /** @throws EngineFault version not loaded, context too long, engine closed */
  sample(request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens>
  /** Drops the caches of a key. */
  release(cacheKey: string): void
  statistics(): Promise<EngineStatistics>
  close(): Promise<void>
}

/** The engine could not sample. */
export class EngineFault extends Fault<
  'version_not_loaded' | 'context_too_long' | 'closed' | 'crashed' | 'backend'
> {
  override readonly name = 'EngineFault'
  protected static override readonly permanentKinds: readonly EngineFault['kind'][] = ['context_too_long']
}
