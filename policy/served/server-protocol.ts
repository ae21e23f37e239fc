/**
 * The contract of a server's protocol: how an action is asked for, and where the answer has what.
 *
 * Invariants
 * - Pure: it makes requests and reads answers; `served.ts` calls, waits, checks and tries again.
 * - Tokens in, tokens and logprobs out; no text in between.
 */
import type { EngineCapabilities, SamplingRequest } from '../engines/engine.ts'

/** A request to a server. */
export interface Ask
  extends Pick<SamplingRequest, 'context' | 'maxNewTokens' | 'temperature' | 'stopTokens' | 'seed'> {
  /** Names the request among all of the server. */
  readonly id: string
  /** The most likely tokens that are reported at each place beside the sampled one; 0 except in the canary. */
  readonly alternatives: number
  /** Name of the adapter that is sampled from; absent: the model that the server was started with. */
  readonly adapter?: string | undefined
  /** Name of the weights that the server should have in place; absent: they never change. */
  readonly weights?: string | undefined
  /** Ids that are never sampled and never reported: the logprobs of the others are renormalized without them. */
  readonly excluded?: readonly number[] | undefined
  /** Sampled first, however unlikely, for the sake of the alternatives, which are reported as if nothing were forced. */
  readonly forced?: number
}

/** A token that might have been sampled. */
export interface Alternative {
  readonly token: number
  readonly logprob: number
}

/** Tokens that follow one another, and the name of the weights that sampled them. */
export interface NamedTokens {
  readonly name: string
  /** How many. */
  readonly tokens: number
}

/** A server's answer, before any of it is believed. */
export interface Answer {
  readonly tokens: readonly number[]
  /** The logprob of each token, at the asked temperature, at temperature 1 where that is 0; undefined where it is missing. */
  readonly logprobs: readonly (number | undefined)[]
  /** Tokens of the context as the server counts them; undefined where it does not tell. */
  readonly promptTokens: number | undefined
  /** The context that it answered to, where it tells. */
  readonly prompt?: readonly number[] | undefined
  /** The number of those that it had computed before. */
  readonly cachedTokens: number
  /** By place, in any order. */
  readonly alternatives: readonly (readonly Alternative[])[]
  /** Whether the server ended it before its end, as for an update of its weights. */
  readonly isCut?: boolean
  /** Which weights sampled its tokens, in their order; undefined where it does not tell. */
  readonly weights?: readonly NamedTokens[] | undefined
}

/** A version that is an adapter, under its own name at a server. */
export interface ServedAdapter {
  readonly name: string
  /** Its folder, which the server reads. */
  readonly dir: string
}

/** A version that is a whole model, under its own name at a server. */
export interface ServedWhole extends ServedAdapter {
  readonly version: number
}

export interface ServerRequestBody {
  readonly path: string
  readonly body: unknown
}

/** How adapters are loaded and unloaded while the server runs. */
export interface AdapterProtocol {
  load(adapter: ServedAdapter): ServerRequestBody
  unload(name: string): ServerRequestBody
  /** Whether a refusal to load says that one of the name is loaded. */
  isThere(message: string): boolean
  /** Whether a refusal to sample says that none of the name is loaded. */
  isGone(message: string): boolean
  /** Whether a failure to load says that the server, as it was started, can never load it. */
  isUnfit(message: string): boolean
  /** Advice where the server loads none. */
  readonly advice: string
}

/** How the weights of a running server are replaced. */
export interface InPlaceProtocol {
  /** GET: answered as soon as it listens, also while it is paused. */
  readonly statePath: string
  /** The name of its weights. @throws ZodError an answer of another form */
  nameIn(state: unknown): string
  /** Every request ends with what it has so far, and what comes later waits. */
  readonly pause: ServerRequestBody
  readonly resume: ServerRequestBody
  /** Gives its weights a name, which each answer tells from then on. */
  rename(name: string): ServerRequestBody
  /** Loads the weights of a folder, and forgets what was computed with those before. */
  reload(dir: string): ServerRequestBody
  /** Advice where it cannot. */
  readonly advice: string
}

export interface ServerProtocol {
  readonly name: string
  readonly capabilities: EngineCapabilities
  /** GET: status 200 once the server can answer. */
  readonly readyPath: string
  /** GET: status 200 at servers of this kind alone. */
  readonly ownPath: string
  /** Advice where the server reports logprobs before temperature. */
  readonly temperatureAdvice: string
  /** Absent where its adapters are those that it was started with. */
  readonly adapters?: AdapterProtocol
  /** Absent where its weights are those that it was started with. */
  readonly inPlace?: InPlaceProtocol
  /** Ends a request by its name, beside its connection's closing; absent where that alone ends it. */
  abort?(id: string): ServerRequestBody
  request(ask: Ask): ServerRequestBody
  /** @throws ZodError an answer of another form */
  read(answer: unknown, ask: Ask): Answer
}
