/** Whether two texts are the same, token by token. */
export function equalTokens(one: Int32Array, other: Int32Array): boolean {
  return one.length === other.length && one.every((token, at) => token === other[at])
}
