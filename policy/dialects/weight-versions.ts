/**
 * Weight versions: which weights sampled which tokens of an answer, as vLLM and SGLang tell it.
 *
 * Invariants
 * - Pure.
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
