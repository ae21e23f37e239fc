/**
 * Sign-flip test: how likely differences as large as these are where either of a pair could have been the better one.
 *
 * Source: R. A. Fisher, The Design of Experiments (1935), section 21.
 *
 * Invariants
 * - [SIGN-FLIP-1] With few differences all ways to set their signs are tried: the p is exact.
 * - [SIGN-FLIP-2] A p is never below what the number of differences allows, and never 0; turning all signs round changes nothing.
 * - The same differences and seed give the same p.
 */
import { uniforms } from '../../identity/identity.ts'

/** Differences up to which all signs are tried: 65,536 ways. */
const mostExact = 16
const draws = 20_000
/** Sums that differ by rounding alone are equal. */
const rounding = 1e-12

export interface SignFlipTest {
  /** Two-sided. */
  readonly p: number
  /** The smallest p that so many differences can have. */
  readonly smallest: number
  /** Whether all signs were tried, and not some drawn. */
  readonly exact: boolean
}

/**
 * Two-sided: the share of the ways to set the signs whose sum is at least as far from zero.
 * @param differences [n] at least one, each minus what it is expected to be
 * @param seed 32 bits, of the signs that are drawn where there are too many to try all
 * @throws RangeError
 * @example signFlipTest([1, 2, 3], 1) // { p: 0.25, smallest: 0.25, exact: true }
 */
export function signFlipTest(differences: readonly number[], seed: number): SignFlipTest {
  const n = differences.length
  if (n === 0) throw new RangeError('no difference to test, expected at least one')
  const scale = Math.max(...differences.map(Math.abs))
  const measured = Math.abs(sumOf(differences, () => true)) - rounding * scale
  if (n > mostExact) {
    const uniform = uniforms(seed)
    let reached = 0
    for (let i = 0; i < draws; i++)
      if (Math.abs(sumOf(differences, () => uniform() < 0.5)) >= measured) reached++
    // The measured signs are one of the ways.
    return { p: (reached + 1) / (draws + 1), smallest: 1 / (draws + 1), exact: false }
  }
  // The sum of each way to set the signs: that of the way with one sign fewer turned, minus twice the turned difference.
  const sums = new Float64Array(2 ** n)
  sums[0] = sumOf(differences, () => true)
  for (let way = 1; way < sums.length; way++) {
    const turned = differences[31 - Math.clz32(way & -way)] ?? 0
    sums[way] = (sums[way & (way - 1)] ?? 0) - 2 * turned
  }
  const reached = sums.reduce((count, sum) => (Math.abs(sum) >= measured ? count + 1 : count), 0)
  return { p: reached / sums.length, smallest: smallestSignFlip(n), exact: true }
}

/** The smallest two-sided p of so many differences: all signs alike, either way. @example smallestSignFlip(5) // 0.0625 */
export function smallestSignFlip(differences: number): number {
  return Math.min(1, 2 / 2 ** differences)
}

function sumOf(differences: readonly number[], isKept: (at: number) => boolean): number {
  return differences.reduce((sum, difference, at) => sum + (isKept(at) ? difference : -difference), 0)
}
