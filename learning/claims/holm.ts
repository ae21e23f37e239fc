/**
 * Holm's procedure: p values of several hypotheses, so that none is more likely to be shown by chance for being one of many.
 *
 * Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).
 *
 * Invariants
 * - [HOLM-1] An adjusted p is at least the p, at most Bonferroni's and at most 1, and the order of the p values is kept.
 */

/**
 * The smallest level of the whole family at which each hypothesis is shown: max over the i-th smallest p of (m − i)·p.
 * @param pValues [m] each in [0, 1]
 * @returns [m], same order
 * @throws RangeError
 * @example holmAdjusted([0.01, 0.04, 0.03]) // [0.03, 0.06, 0.06]
 */
export function holmAdjusted(pValues: readonly number[]): readonly number[] {
  const m = pValues.length
  for (const p of pValues) if (!(p >= 0 && p <= 1)) throw new RangeError(`a p of ${p}, expected 0 to 1`)
  const order = pValues.map((p, at) => ({ p, at })).sort((a, b) => a.p - b.p)
  const adjusted = new Array<number>(m).fill(1)
  let largest = 0
  for (const [i, { p, at }] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (m - i) * p))
    adjusted[at] = largest
  }
  return adjusted
}
