/** `logit_bias` of a request: what is added to the logits of some tokens before temperature, by their ids. */
export function biasOf(tokens: readonly number[], bias: number): Record<string, number> {
  return Object.fromEntries(tokens.map((token) => [String(token), bias]))
}
