/**
 * Intervals: how far a success rate may be from what was measured.
 *
 * Invariants
 * - An interval lies within [0, 1] (a difference within [−1, 1]) and contains the measured rate.
 */

/** Two-sided 95 % quantile of the normal distribution. */
const z95 = 1.959963984540054

export interface Interval {
  readonly low: number
  readonly high: number
}

/**
 * Wilson score interval, 95 % unless another quantile is given, for k successes of n:
 * (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).
 * Source: E. B. Wilson, JASA 22 (1927); it holds its level at rates near 0 and 1 and for small n.
 * @param successes in [0, n]
 * @param n at least 1
 * @param z two-sided quantile of the normal distribution
 * @throws RangeError
 * @example wilsonInterval(5, 10) // ≈ { low: 0.2366, high: 0.7634 }
 */
export function wilsonInterval(successes: number, n: number, z = z95): Interval {
  checkCounts(successes, n)
  const p = successes / n
  const z2 = z * z
  const centre = p + z2 / (2 * n)
  const spread = z * Math.sqrt((p * (1 - p)) / n + z2 / (4 * n * n))
  const scale = 1 + z2 / n
  return {
    low: Math.max(0, Math.min(p, (centre - spread) / scale)),
    high: Math.min(1, Math.max(p, (centre + spread) / scale)),
  }
}

/**
 * Interval of the difference p₂ − p₁ of two independent rates, 95 % by default, from their Wilson intervals.
 * Source: R. G. Newcombe, Statistics in Medicine 17 (1998), method 10.
 * @throws RangeError
 * @example differenceInterval({ successes: 48, n: 80 }, { successes: 56, n: 70 }) // ≈ { low: 0.0524, high: 0.3339 }
 */
export function differenceInterval(
  before: { readonly successes: number; readonly n: number },
  after: { readonly successes: number; readonly n: number },
  z = z95,
): Interval & { readonly difference: number } {
  const first = wilsonInterval(before.successes, before.n, z)
  const second = wilsonInterval(after.successes, after.n, z)
  const p1 = before.successes / before.n
  const p2 = after.successes / after.n
  const difference = p2 - p1
  return {
    difference,
    low: Math.max(-1, difference - Math.hypot(p2 - second.low, first.high - p1)),
    high: Math.min(1, difference + Math.hypot(second.high - p2, p1 - first.low)),
  }
}

function checkCounts(successes: number, n: number): void {
  if (!(n >= 1 && successes >= 0 && successes <= n))
    throw new RangeError(
      `${successes} successes of ${n}, expected at least one trial and no more successes than trials`,
    )
}
