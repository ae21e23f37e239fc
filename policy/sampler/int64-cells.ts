/**
 * int64 tensors written as plain numbers.
 *
 * Invariants
 * - Cell i of `data` is `low[2 * i]` as long as only non-negative 31-bit numbers are written there.
 */

/** A BigInt64Array with a view of its low halves: writing a number makes no BigInt. */
export interface Int64Cells {
  readonly data: BigInt64Array
  /** Even places are the low halves; every platform that Node runs the engine on is little-endian. */
  readonly low: Int32Array
}

export function int64Cells(length: number): Int64Cells {
  const data = new BigInt64Array(length)
  return { data, low: new Int32Array(data.buffer) }
}
