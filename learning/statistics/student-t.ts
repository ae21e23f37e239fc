/**
 * Student's t distribution: its tails and quantiles, and the interval of a mean that rests on them.
 *
 * Invariants
 * - Tails fall with t and add up to one half at 0; quantiles are antisymmetric around one half.
 * - [STUDENT-1] An interval is centred on its mean, and wider the fewer values there are.
 */
import type { Interval } from './interval.ts'

/** Terms of the continued fraction; it converges within a few dozen for any number of degrees of freedom. */
const mostTerms = 500
const tiny = 1e-300
const precise = 1e-15

/** Coefficients of Lanczos' series with g = 7. */
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/**
 * P(T > t) with so many degrees of freedom: half of the regularized incomplete beta function
 * I_x(ν/2, 1/2) at x = ν / (ν + t²), for t ≥ 0.
 * @param df degrees of freedom, at least 1
 * @throws RangeError
 * @example studentTail(2, 10) // ≈ 0.03669
 */
export function studentTail(t: number, df: number): number {
  checkDegrees(df)
  if (t < 0) return 1 - studentTail(-t, df)
  if (t === Number.POSITIVE_INFINITY) return 0
  return incompleteBeta(df / (df + t * t), df / 2, 0.5) / 2
}

/**
 * The t with P(T ≤ t) = p, to a relative error below 1e-9.
 * @param p in (0, 1)
 * @param df degrees of freedom, at least 1
 * @throws RangeError
 * @example studentQuantile(0.975, 4) // ≈ 2.776445
 */
export function studentQuantile(p: number, df: number): number {
  checkDegrees(df)
  if (!(p > 0 && p < 1)) throw new RangeError(`a quantile at ${p}, expected a probability between 0 and 1`)
  if (p < 0.5) return -studentQuantile(1 - p, df)
  let [low, high] = [0, 1]
  while (studentTail(high, df) > 1 - p) high *= 2
  // Halving is slow and sure: a hundred times leaves nothing between the two.
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2
    if (studentTail(middle, df) > 1 - p) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** The estimate of a mean from few values. */
export interface MeanEstimate extends Interval {
  readonly mean: number
  /** The standard error of a single value; 0 where all are equal. */
  readonly standardError: number
}

/**
 * The mean with its interval mean ± t·s/√n, s being the unbiased deviation.
 * @param values [n] at least two
 * @param level of the interval, in (0, 1); 0.95 by default
 * @throws RangeError
 * @example meanInterval([1, 2, 3]) // ≈ { mean: 2, low: -0.4841, high: 4.4841, … }
 */
export function meanInterval(values: readonly number[], level = 0.95): MeanEstimate {
  const { mean, standardError } = meanAndError(values)
  const reach = standardError * studentQuantile(1 - (1 - level) / 2, values.length - 1)
  return { mean, standardError, low: mean - reach, high: mean + reach }
}

function meanAndError(values: readonly number[]): Pick<MeanEstimate, 'mean' | 'standardError'> {
  const n = values.length
  if (n < 2) throw new RangeError(`the interval of ${n} values, expected at least two`)
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  // Equal values differ from their mean by rounding alone.
  const isConstant = values.every((value) => value === values[0])
  return { mean, standardError: isConstant ? 0 : Math.sqrt(squares / (n - 1) / n) }
}

/**
 * Two-sided p of a mean against what it is said to be. Where all values are equal it is 1 if they are just that, else 0.
 * @param values [n] at least two
 * @throws RangeError
 */
export function meanTest(values: readonly number[], expected: number): number {
  const { mean, standardError } = meanAndError(values)
  if (standardError === 0) return values[0] === expected ? 1 : 0
  return Math.min(1, 2 * studentTail(Math.abs(mean - expected) / standardError, values.length - 1))
}

/** Regularized incomplete beta function I_x(a, b), by its continued fraction (Lentz's method). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges fast on one side of the mean only.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a)
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x) - Math.log(a),
  )
  let c = 1
  let d = 1 / apart(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= mostTerms; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / apart(1 + even * d)
    c = apart(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / apart(1 + odd * d)
    c = apart(1 + odd / c)
    fraction *= d * c
    if (Math.abs(d * c - 1) < precise) break
  }
  return front * fraction
}

/** Away from zero, so that it can be divided by. */
function apart(value: number): number {
  return Math.abs(value) < tiny ? tiny : value
}

/** ln Γ(x) for x > 0. Source: C. Lanczos, SIAM J. Numer. Anal. B 1 (1964). */
function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  const shifted = x - 1
  const base = shifted + 7.5
  const series = lanczos.reduce(
    (sum, coefficient, i) => sum + (i === 0 ? coefficient : coefficient / (shifted + i)),
    0,
  )
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(series)
}

function checkDegrees(df: number): void {
  if (!(df >= 1)) throw new RangeError(`${df} degrees of freedom, expected at least 1`)
}
