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
import type { VersionSpan } from '../../learning/run/version-spans.ts'

/** One action to sample. */
export interface SamplingRequest {
  /** Names the growing context (the episode's id); requests of one key extend each other and reuse its cache. */
  readonly cacheKey: string
  /** [time] token ids, the whole context so far. */
  readonly context: Int32Array
  /**
   * Lengths that the context had at the earlier turns of its key, ascending. An exact engine cuts its sums there,
   * so that a context that is computed again, as after a crash, rounds as it did when it grew from turn to turn.
   */
  readonly borders: readonly number[]
  /** The policy version to sample from; must have been loaded. An engine of the newest alone takes a newer one in its place. */
  readonly version: number
  /** Whether no other version may take its place, as where it is measured. */
  readonly exactVersion?: boolean
  readonly maxNewTokens: number
  /** 0 takes the most likely token; its logprobs are those at temperature 1. */
  readonly temperature: number
  /** Sampling ends with the first of these, which is part of the result. */
  readonly stopTokens: readonly number[]
  /** 32-bit seed of the draws, from the turn's identity. */
  readonly seed: number
  /** Names the request at a server that runs elsewhere: the turn, and which try it is; none needs it. */
  readonly id?: string
  /** Whether it yields: others go first wherever they wait, but it is never kept from its end. */
  readonly background?: boolean
}

/** The tokens of a sample. */
export interface SampledTokens {
  /** The version of the first token, and of all where there are no spans; no token has an older one. */
  readonly version: number
  /** All tokens in their order, by version; absent where one version sampled them all. */
  readonly spans?: readonly VersionSpan[]
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

/** The capabilities of an engine; a configuration that needs more is refused by name (`activities/play/engine-demands.ts`). */
export interface EngineCapabilities {
  /**
   * Which versions it samples from: `many` at once, each request naming its own; `latest` alone, each load taking the
   * place of the one before; `first` alone, the model that its server was started with.
   */
  readonly versions: 'many' | 'latest' | 'first'
  /** Whether its versions may be adapters over a base that it has; absent: they may not. */
  readonly adapters?: boolean | undefined
  /** Whether its servers are started with a model that the run begins with (`policy.from`); absent: they are not. */
  readonly served?: boolean | undefined
  /** Whether it also tells the logprobs of tokens that are given to it. */
  readonly scoring: boolean
  /** Whether the same request can give the same bytes, whatever else is in flight or cached. */
  readonly exact: boolean
}

export interface Engine {
  readonly capabilities: EngineCapabilities
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

/** Options for opening the engine of a run. */
export interface EngineOptions {
  /** The run's name. */
  readonly run: string
  /** Addresses of its servers, for an engine that has any. */
  readonly urls: readonly string[]
  /** Shown to the servers as a bearer token. */
  readonly apiKey: string | undefined
  readonly threads: number
  /** Tokens of a context at most, sampled ones included. */
  readonly contextLength: number
  /** Whether the run is to be repeatable to the byte. */
  readonly exact: boolean
  /** Whether the run changes its policy: otherwise what its servers were started with is all that is sampled from. */
  readonly trains: boolean
  /** Milliseconds that one action may take. */
  readonly answerMs: number
  readonly log: (line: string) => void
}

/** A kind of engine: its capabilities, and how one is opened. A custom module exports it: `export const engine = …`. */
export interface EngineDefinition {
  readonly name: string
  readonly capabilities: EngineCapabilities
  /** @throws EngineFault */
  open(options: EngineOptions): Promise<Engine>
}

/**
 * The engine could not sample. `unreachable`: no server of it answers, now. `wrong_answer`: what a server answered is
 * not what it was asked for, and nothing of it is used. `refused`: a server does not take the request.
 * `another_model`: a server samples from other weights than the version's, or tells logprobs of another kind.
 * `cut`: a server ended a request before its end. `superseded`: the engine has a newer version, and the asked one alone would do.
 * `unsupported`: the engine cannot do what the run needs.
 */
export class EngineFault extends Fault<
  | 'version_not_loaded'
  | 'context_too_long'
  | 'closed'
  | 'crashed'
  | 'backend'
  | 'unreachable'
  | 'wrong_answer'
  | 'refused'
  | 'another_model'
  | 'cut'
  | 'superseded'
  | 'unsupported'
> {
  override readonly name = 'EngineFault'
  protected static override readonly permanentKinds: readonly EngineFault['kind'][] = [
    'context_too_long',
    'refused',
    'another_model',
    'superseded',
    'unsupported',
  ]
}

/**
 * Tokens that an action may have: as many as asked, one at least, and no more than the context leaves room for.
 * @throws EngineFault `context_too_long`
 */
export function roomFor(
  { context, maxNewTokens }: Pick<SamplingRequest, 'context' | 'maxNewTokens'>,
  contextLength: number,
): number {
  const room = contextLength - context.length
  if (room > 0) return Math.max(1, Math.min(room, maxNewTokens))
  throw new EngineFault(
    'context_too_long',
    `the context has ${context.length} tokens; the engine holds ${contextLength} with at least one to sample`,
  )
}

export function notLoadedFault(version: number): EngineFault {
  return new EngineFault(
    'version_not_loaded',
    `policy version ${version} is not loaded: load it before sampling from it`,
  )
}

export function closedFault(): EngineFault {
  return new EngineFault('closed', 'the engine is closed: create another one')
}
