/**
 * The standard normal distribution: its quantiles and tails.
 *
 * Invariants
 * - Quantiles are antisymmetric around one half and rise with the probability.
 * - Tails fall with z and add up to 1 with those of −z.
 */

const low = 0.02425

const centralNumerator = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
  2.506628277459239,
]
const centralDenominator = [
  -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1,
  1,
]
const tailNumerator = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
]
const tailDenominator = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1]

/**
 * The z with P(Z ≤ z) = p, to a relative error below 1.2e-9.
 * Source: P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function" (2003).
 * @param p in (0, 1)
 * @throws RangeError
 * @example normalQuantile(0.975) // ≈ 1.959964
 */
export function normalQuantile(p: number): number {
  if (!(p > 0 && p < 1)) throw new RangeError(`a quantile at ${p}, expected a probability between 0 and 1`)
  if (p > 0.5) return -normalQuantile(1 - p)
  if (p < low) {
    const q = Math.sqrt(-2 * Math.log(p))
    return polynomial(tailNumerator, q) / polynomial(tailDenominator, q)
  }
  const q = p - 0.5
  return (polynomial(centralNumerator, q * q) * q) / polynomial(centralDenominator, q * q)
}

/**
 * P(Z > z), to a relative error below 1e-10: a power series near the middle, Laplace's continued fraction further out.
 * Source: G. Marsaglia, "Evaluating the normal distribution", Journal of Statistical Software 11 (2004).
 * @example normalTail(1.959964) // ≈ 0.025
 */
export function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z)
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)
  if (z < 3) {
    let [term, sum] = [z, z]
    for (let odd = 3; term > 1e-17; odd += 2) {
      term *= (z * z) / odd
      sum += term
    }
    return 0.5 - density * sum
  }
  let fraction = z
  for (let k = 60; k >= 1; k--) fraction = z + k / fraction
  return density / fraction
}

/** @param coefficients highest power first */
function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0)
}
