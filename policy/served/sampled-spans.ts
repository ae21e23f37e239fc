/**
 * Sampled spans: an action that is sampled in parts, because servers cut it, and the version of each part.
 *
 * Invariants
 * - [SPANS-1] Every part continues the tokens before it, and ends where the whole would: at the first stop token, or at the limit of all.
 * - [SPANS-2] The draws of a part are its own: those of the beginning again would repeat it.
 * - Versions ascend from part to part.
 */
import { seedOf } from '../../identity/identity.ts'
import type { VersionSpan } from '../../learning/run/version-spans.ts'
import type { SampledTokens } from '../engines/engine.ts'
import type { CheckedPart } from './checked-answer.ts'
import type { Ask } from './server-protocol.ts'

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
