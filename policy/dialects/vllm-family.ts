/**
 * Weight versions: which weights sampled which tokens of an answer, as vLLM and SGLang tell it.
 *
 * Invariants
 * - Pure.
 * - A logprob of another token is no token's: it is not a number, which the check of answers refuses.
 * - All reported logprobs are returned, so that too many are noticed.
 */
import { z } from 'zod'
import type { NamedTokens } from '../served/server-protocol.ts'

const place = z.int().min(0)

/** Spans that follow one another, from a token to before another; absent where a server tells none. */
export const weightVersions = z.array(z.object({ version: z.string(), start: place, end: place })).nullish()

/** A server's report of its own state. */
const state = z.object({ weight_version: z.string() })

export function namedTokens(spans: z.output<typeof weightVersions>): readonly NamedTokens[] | undefined {
  return spans?.map(({ version, start, end }) => ({ name: version, tokens: end - start }))
}

/** The name of a server's weights. @throws ZodError */
export function weightsNamedIn(answer: unknown): string {
  return state.parse(answer).weight_version
}

/** `logit_bias` of a request: what is added to the logits of some tokens before temperature, by their ids. */
export function biasOf(tokens: readonly number[], bias: number): Record<string, number> {
  return Object.fromEntries(tokens.map((token) => [String(token), bias]))
}

/** @example ownLogprobs([5, 6], [{ token: 5, logprob: -1 }, { token: 9, logprob: -2 }]) // [-1, NaN] */
export function ownLogprobs<Token extends number | string>(
  tokens: readonly Token[],
  reported: readonly { readonly token: Token | undefined; readonly logprob: number }[],
): readonly number[] {
  return reported.map(({ token, logprob }, at) =>
    token === tokens[at] || at >= tokens.length ? logprob : Number.NaN,
  )
}
