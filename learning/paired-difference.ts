/**
 * Paired difference: how much better one policy is than another on the very same instances.
 *
 * What makes an instance easy or hard is the same for both, so it falls out of the difference: the interval is narrower
 * than that of two independent rates.
 *
 * Invariants
 * - The interval lies within [−1, 1] and contains the measured difference; exchanging the two turns it round.
 * - Samples of one instance are not taken for independent trials: instances are what is drawn again.
 * - The same pairs and seed give the same figures.
 */
import { bootstrapInterval } from './bootstrap.ts'
import { differenceInterval, type Interval } from './interval.ts'

/** Success of two policies on one instance, each the share of its samples that succeeded, in [0, 1]. */
export interface Pair {
  readonly before: number
  readonly after: number
}

export interface PairedDifference extends Interval {
  /** Mean of after − before over the instances. */
  readonly difference: number
  /** Instances on which the second was better, and worse. */
  readonly better: number
  readonly worse: number
}

/**
 * The difference with its 95 % percentile interval of the bootstrap over instances. Where all instances agree the
 * bootstrap knows no spread: then it is Newcombe's of two independent rates, which is wider.
 * @param pairs [instances], one at least
 * @param seed 32 bits, of the draws
 * @throws RangeError no pair
 */
export function pairedDifference(pairs: readonly Pair[], seed: number): PairedDifference {
  const n = pairs.length
  if (n === 0) throw new RangeError('no instance was played by both, expected at least one')
  const differences = pairs.map(({ before, after }) => after - before)
  const mean = sum(differences) / n
  const counts = {
    difference: mean,
    better: differences.filter((each) => each > 0).length,
    worse: differences.filter((each) => each < 0).length,
  }
  if (differences.every((each) => each === differences[0])) {
    const successes = (of: keyof Pair) => sum(pairs.map((pair) => pair[of]))
    const { low, high } = differenceInterval(
      { successes: successes('before'), n },
      { successes: successes('after'), n },
    )
    return { ...counts, low: Math.min(mean, low), high: Math.max(mean, high) }
  }
  const meanOf = (draw: () => number) => {
    let total = 0
    for (let i = 0; i < n; i++) total += differences[draw()] ?? 0
    return total / n
  }
  return { ...counts, ...bootstrapInterval(mean, meanOf, { instances: n, seed }) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
