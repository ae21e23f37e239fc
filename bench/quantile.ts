/**
 * Quantiles of what a benchmark has measured.
 *
 * Invariants
 * - A quantile is one of the values: the least that so large a share of all does not pass (nearest rank).
 */

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
