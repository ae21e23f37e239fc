/**
 * Invariants
 * - A quantile is one of the values: the least that so large a share of all does not pass (nearest rank).
 */

/** A figure of a benchmark. */

/** One measured value, with the peer's or the limit's value of the same run where there is one. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly reference?: number
  /** value ÷ reference */
  readonly ratio?: number
}

/**
 * The value at rank ⌈share · n⌉. ⌊share · n⌋ + 1, which is as quick to write, is one rank too high wherever
 * share · n is whole: it would call the greatest of a hundred values their p99.
 * @param share more than 0, at most 1
 * @returns NaN of nothing
 * @example quantile([3, 1, 2, 4], 0.5) // 2
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
