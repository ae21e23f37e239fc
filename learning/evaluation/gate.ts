/**
 * Gates: whether a policy has become worse on a suite, beyond chance.
 *
 * Invariants
 * - A gate never closes on a policy that did as well as the one it is compared with, or better.
 * - More confidence or a larger drop asked for closes it later, never earlier.
 */
import { differenceInterval } from '../statistics/interval.ts'
import { normalQuantile } from '../statistics/normal.ts'

/** Successes of n independent trials. */
export interface Trials {
  readonly successes: number
  readonly n: number
}

/** When a gate closes. */
export interface GateRule {
  /** Share of the suite that may be lost, in [0, 1). */
  readonly drop: number
  /** One-sided, in (0.5, 1). */
  readonly confidence: number
}

/**
 * True when p_before − p_after > drop holds with the asked confidence: the lower bound of the one-sided
 * interval of the difference, by Newcombe's method 10 with z at that confidence, lies above the drop.
 * Source: R. G. Newcombe, Statistics in Medicine 17 (1998); see `differenceInterval`.
 * @throws RangeError
 * @example hasFallen({ successes: 80, n: 100 }, { successes: 50, n: 100 }, { drop: 0.1, confidence: 0.95 }) // true
 */
export function hasFallen(before: Trials, after: Trials, { drop, confidence }: GateRule): boolean {
  const { high } = differenceInterval(before, after, normalQuantile(confidence))
  return -high > drop
}
