/**
 * Gates: whether a policy has become worse on a suite, beyond chance.
 *
 * Invariants
 * - A gate never closes on a policy that did as well as the one it is compared with, or better.
 * - More confidence or a larger drop asked for closes it later, never earlier.
 * - [GATE-1] One instance tells nothing of the spread of a mean: by it no gate closes.
 */
import { differenceInterval } from '../statistics/interval.ts'
import { normalQuantile } from '../statistics/normal.ts'
import { studentQuantile } from '../statistics/student-t.ts'
import { figuresOfBoth, gainOf, type Judged, type JudgedFigure } from './judgement.ts'

/** An evaluation as a gate sees it. */
export interface Trials extends Judged {
  /** Instances, which are independent of each other as samples of one instance are not. */
  readonly instances: number
}

/** When a gate closes. */
export interface GateRule {
  /** The loss that is allowed: of success a share in [0, 1), of another measure in its unit. */
  readonly drop: number
  /** One-sided, in (0.5, 1). */
  readonly confidence: number
}

/** The values that a drop may have, by the measure of the gate's suite. */
export function dropBounds(of: string): { readonly atLeast: number; readonly below?: number } {
  return { atLeast: 0, ...(of === 'success' ? { below: 1 } : {}) }
}

/**
 * True when the loss exceeds the drop with the asked confidence: the lower bound of its one-sided interval lies above the drop.
 * @throws RangeError
 * @example hasFallen({ success: 0.8, instances: 100 }, { success: 0.5, instances: 100 }, { drop: 0.1, confidence: 0.95 }) // true
 */
export function hasFallen(before: Trials, after: Trials, { drop, confidence }: GateRule): boolean {
  const figures = figuresOfBoth(before, after)
  const high =
    figures === undefined
      ? differenceInterval(successesOf(before), successesOf(after), normalQuantile(confidence)).high
      : gainOf(before, after) +
        Math.hypot(
          reach(figures[0], 'worse', before, confidence),
          reach(figures[1], 'better', after, confidence),
        )
  return -high > drop
}

/** Successes for Newcombe's method 10, with instances as trials; see `differenceInterval`. */
function successesOf({ success, instances }: Trials) {
  return { successes: success * instances, n: instances }
}

/** Two-sided 95 %, of the intervals that evaluations have. */
const z95 = normalQuantile(0.975)

/**
 * The distance from a mean to an end of its interval at the asked confidence, of two means combined as by Newcombe. The
 * bootstrap's interval is that of 95 %; it is scaled to Student's quantile, and by the deviation that a bootstrap over few
 * instances underestimates. Source: G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008), section 2.
 */
function reach(
  { value, low, high, better }: JudgedFigure,
  side: 'better' | 'worse',
  { instances }: Trials,
  confidence: number,
): number {
  if (instances < 2) return Number.POSITIVE_INFINITY
  const distance = (better === 'higher') === (side === 'better') ? high - value : value - low
  const few = Math.sqrt(instances / (instances - 1))
  return (distance * few * studentQuantile(confidence, instances - 1)) / z95
}
