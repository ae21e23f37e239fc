/**
 * Logprobs that are missing in a server's answer, asked for one by one.
 *
 * llama.cpp's server tells none for a token that leaves a character unfinished (several tokens of one letter). Each of
 * these is asked for again: what is likely after the tokens before it, all tokens of the vocabulary listed at temperature
 * 1. There a token is forced that finishes a character, because for another the logprob would be missing again.
 *
 * Invariants
 * - [MISSING-1] A logprob is given to a token only where it can be no other's.
 */
import type { Alternative, Answer, Ask } from './server-protocol.ts'

/**
 * The logprobs of tokens where only some are reported, in their order; undefined where the match is not certain.
 * @example reportedLogprobs([5, 6, 7], [{ token: 7, logprob: -1 }]) // [undefined, undefined, -1]
 */
export function reportedLogprobs(
  tokens: readonly number[],
  reported: readonly Alternative[],
): readonly (number | undefined)[] {
  const earliest = aligned(tokens, reported)
  const latest = aligned(tokens.toReversed(), reported.toReversed()).toReversed()
  return earliest.map((one, at) => (one !== undefined && one === latest[at] ? one.logprob : undefined))
}

/** Each reported logprob at the first place where it can be. */
function aligned(
  tokens: readonly number[],
  reported: readonly Alternative[],
): readonly (Alternative | undefined)[] {
  let next = 0
  return tokens.map((token) => (reported[next]?.token === token ? reported[next++] : undefined))
}

/**
 * The answer with all its logprobs.
 * @param vocabulary tokens that are listed at most
 * @returns the same where the server can tell nothing more; the check of answers says so then
 */
export async function withMissing(
  answer: Answer,
  ask: Ask,
  { vocabulary, call }: { readonly vocabulary: number; readonly call: (ask: Ask) => Promise<Answer> },
): Promise<Answer> {
  // Beyond the end nothing is used.
  const end = answer.tokens.findIndex((token) => ask.stopTokens.includes(token))
  const used = end < 0 ? answer.tokens.length : end + 1
  const untold = answer.logprobs.flatMap((logprob, at) => (logprob === undefined && at < used ? [at] : []))
  if (untold.length === 0 || untold.length > ask.maxNewTokens) return answer
  const logprobs = [...answer.logprobs]
  const forced = finishing(answer, ask)
  for (const at of untold) {
    const context = Int32Array.from([...ask.context, ...answer.tokens.slice(0, at)])
    const own = { ...ask, id: `${ask.id}-${at}`, context, maxNewTokens: 1, temperature: 1, stopTokens: [] }
    const [listed = []] = (await call({ ...own, alternatives: vocabulary, forced })).alternatives
    const possible = listed.filter(({ token }) => !ask.excluded?.includes(token))
    logprobs[at] = logprobAt(possible, answer.tokens[at] as number, ask.temperature)
  }
  return { ...answer, logprobs }
}

/** A token that finishes a character by itself: the end of an action, or one that was reported after a reported one. */
function finishing({ tokens, logprobs }: Answer, { stopTokens }: Ask): number {
  const alone = tokens.find(
    (_, at) => logprobs[at] !== undefined && (at === 0 || logprobs[at - 1] !== undefined),
  )
  return stopTokens[0] ?? alone ?? 0
}

/** log softmax(l / t) of a token, from the logprobs l of all tokens; l itself at temperature 0. */
function logprobAt(all: readonly Alternative[], token: number, temperature: number): number | undefined {
  const own = all.find((each) => each.token === token)?.logprob
  if (own === undefined || temperature === 0) return own
  const highest = all.reduce((most, { logprob }) => Math.max(most, logprob), own)
  const sum = all.reduce((total, { logprob }) => total + Math.exp((logprob - highest) / temperature), 0)
  return (own - highest) / temperature - Math.log(sum)
}
