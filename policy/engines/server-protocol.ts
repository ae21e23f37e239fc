/**
 * The contract of a server's protocol: how an action is asked for, and where the answer has what.
 *
 * Invariants
 * - Pure: it makes requests and reads answers; `served.ts` calls, waits, checks and tries again.
 * - Tokens in, tokens and logprobs out; text never stands between.
 */
import type { EngineCapabilities, SamplingRequest } from './engine.ts'

/** What is asked of a server. */
export interface Ask
  extends Pick<SamplingRequest, 'context' | 'maxNewTokens' | 'temperature' | 'stopTokens' | 'seed'> {
  /** Names the request among all of the server. */
  readonly id: string
  /** The most likely tokens that are told at each place beside the sampled one; 0 but for the canary. */
  readonly alternatives: number
  /** Name of the adapter that is sampled from; absent: the model that the server was started with. */
  readonly adapter?: string | undefined
  /** Sampled first, however unlikely, for the sake of the alternatives, which are told as if nothing were forced. */
  readonly forced?: number
}

/** A token that might have been sampled. */
export interface Alternative {
  readonly token: number
  readonly logprob: number
}

/** What a server answered, before anything of it is believed. */
export interface Answer {
  readonly tokens: readonly number[]
  /** Of each token, at the asked temperature, at temperature 1 where that is 0; undefined where it was not told. */
  readonly logprobs: readonly (number | undefined)[]
  /** Tokens of the context as the server counts them; undefined where it does not tell. */
  readonly promptTokens: number | undefined
  /** The context that it answered to, where it tells. */
  readonly prompt?: readonly number[] | undefined
  /** Of those, what it had computed before. */
  readonly cachedTokens: number
  /** By place, in any order. */
  readonly alternatives: readonly (readonly Alternative[])[]
}

/** A version that is an adapter, under its own name at a server. */
export interface ServedAdapter {
  readonly name: string
  /** Its folder, which the server reads. */
  readonly dir: string
}

interface ServerRequestBody {
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
  /** What to do where the server loads none. */
  readonly advice: string
}

export interface ServerProtocol {
  readonly name: string
  readonly capabilities: EngineCapabilities
  /** GET: status 200 once the server can answer. */
  readonly readyPath: string
  /** GET: status 200 at servers of this kind alone. */
  readonly ownPath: string
  /** What to do where the server tells logprobs before temperature. */
  readonly temperatureAdvice: string
  /** Absent where its adapters are those that it was started with. */
  readonly adapters?: AdapterProtocol
  /** Ends a request by its name, beside its connection's closing; absent where that alone ends it. */
  abort?(id: string): ServerRequestBody
  request(ask: Ask): ServerRequestBody
  /** @throws ZodError an answer of another form */
  read(answer: unknown, ask: Ask): Answer
}
