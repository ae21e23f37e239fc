/**
 * A request on its way through the sampler.
 *
 * Invariants
 * - The k-th token is drawn with the k-th uniform of the request's seed.
 * - A context that no model can read is refused, with what is wrong with it.
 */
import { uniforms } from '../../identity/identity.ts'
import { EngineFault, roomFor, type SampledTokens, type SamplingRequest } from '../engines/engine.ts'

/** In single precision a larger number below 1 may round to 1, which no cumulative sum exceeds. */
const largestUniform = 1 - 2 ** -23

export class Job {
  readonly id: number
  readonly request: SamplingRequest
  /** The context and what was sampled after it. */
  readonly tokens: Int32Array
  readonly #logprobs: Float32Array
  readonly #stops: ReadonlySet<number>
  readonly #next: () => number
  #sampled = 0
  cancelled = false

  /** @param limit new tokens at most */
  constructor(id: number, request: SamplingRequest, limit: number) {
    this.id = id
    this.request = request
    this.tokens = new Int32Array(request.context.length + limit)
    this.tokens.set(request.context)
    this.#logprobs = new Float32Array(limit)
    this.#stops = new Set(request.stopTokens)
    this.#next = uniforms(request.seed)
  }

  /** Tokens of the context and sampled ones. */
  get length(): number {
    return this.request.context.length + this.#sampled
  }

  /** Where a prefill from that position on must end: at the end of its turn's part of the context. */
  partEnd(position: number): number {
    return this.request.borders.find((border) => border > position) ?? this.length
  }

  get inverseTemperature(): number {
    return this.request.temperature === 0 ? 1 : 1 / this.request.temperature
  }

  get background(): boolean {
    return this.request.background ?? false
  }

  get greedy(): boolean {
    return this.request.temperature === 0
  }

  nextUniform(): number {
    return Math.min(this.#next(), largestUniform)
  }

  /** Takes the next token. @returns the result when it was the last one */
  accept(token: number, logprob: number): SampledTokens | undefined {
    const start = this.request.context.length
    this.tokens[start + this.#sampled] = token
    this.#logprobs[this.#sampled++] = logprob
    const stopped = this.#stops.has(token)
    if (!stopped && this.#sampled < this.#logprobs.length) return undefined
    return {
      version: this.request.version,
      tokens: this.tokens.slice(start, start + this.#sampled),
      logprobs: this.#logprobs.slice(0, this.#sampled),
      finish: stopped ? 'stop' : 'length',
    }
  }
}

/** The job of a request, with as many new tokens as it asks for and the context has room for. @throws EngineFault */
export function jobOf(
  id: number,
  request: SamplingRequest,
  { contextLength, vocabulary }: { readonly contextLength: number; readonly vocabulary: number },
): Job {
  const { context } = request
  const room = roomFor(request, contextLength)
  const foreign = context.findIndex((token) => token < 0 || token >= vocabulary)
  if (context.length === 0 || foreign >= 0)
    throw new EngineFault(
      'backend',
      context.length === 0
        ? 'the context is empty: give at least one token'
        : `token ${context[foreign]} at place ${foreign} of the context is outside the vocabulary of ${vocabulary}`,
    )
  return new Job(id, request, room)
}
