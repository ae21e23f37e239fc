/**
 * Logprobs that a server tells with the tokens that they are of.
 *
 * Invariants
 * - A logprob of another token is no token's: it is not a number, which the check of answers refuses.
 * - All reported logprobs are returned, so that too many are noticed.
 */

/** @example ownLogprobs([5, 6], [{ token: 5, logprob: -1 }, { token: 9, logprob: -2 }]) // [-1, NaN] */
export function ownLogprobs<Token extends number | string>(
  tokens: readonly Token[],
  reported: readonly { readonly token: Token | undefined; readonly logprob: number }[],
): readonly number[] {
  return reported.map(({ token, logprob }, at) =>
    token === tokens[at] || at >= tokens.length ? logprob : Number.NaN,
  )
}
