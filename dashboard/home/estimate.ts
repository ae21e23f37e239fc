/** A success rate with its interval, as the store has it or as it follows from the number of episodes. */

import type { Estimate } from '../../learning/evaluation/suite-statistics.ts'
import { type Interval, wilsonInterval } from '../../learning/statistics/interval.ts'

/** @param found.interval where instances have several samples; else Wilson's of n trials */
export function estimateOf(found: {
  readonly success: number
  readonly n: number
  readonly interval?: Interval | undefined
}): Estimate {
  const { success, n, interval } = found
  // Without an episode that ended with a reward nothing is known.
  const { low, high } = interval ?? (n === 0 ? { low: 0, high: 1 } : wilsonInterval(success * n, n))
  return { value: success, low, high }
}
