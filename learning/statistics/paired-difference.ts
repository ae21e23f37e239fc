/**
 * The difference between two policies by a measure, with its interval: the same wherever one difference is shown.
 *
 * It is paired where they played the same instances. The difficulty of an instance is the same for both, so it falls out of
 * the difference: the interval is narrower than that of two independent rates.
 *
 * Invariants
 * - The interval contains the measured difference, and lies within [−1, 1] for a share; exchanging the two turns it round.
 * - Samples of one instance are not taken for independent trials: instances are what is drawn again.
 * - [DIFFERENCE-1] Instances that both played make it paired, and no others take part; without any it is that of independent rates or means.
 * - The same pairs and seed give the same figures.
 */
import { bootstrapInterval, percentileInterval } from './bootstrap.ts'
import { differenceInterval, type Interval } from './interval.ts'

/** A measure of a policy by instance, as the mean over its samples; for success a share in [0, 1]. */
export type Shares = ReadonlyMap<string, number>

/** The kind of a measure. */
export interface MeasureKind {
  readonly better: 'higher' | 'lower'
  readonly isShare: boolean
}

const ofSuccess: MeasureKind = { better: 'higher', isShare: true }

/** A measure of two policies on one instance, each the mean over its samples. */
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

export interface SuccessDifference {
  /** Instances that both played. */
  readonly instances: number
  /** After − before over these, with its 95 % interval; absent where there are none. */
  readonly paired?: PairedDifference
  /** Instead, where both played some and none in common: the difference of independent rates, with instances as trials. */
  readonly unpaired?: Interval & { readonly difference: number }
}

/** @param seed 32 bits, of the draws */
export function successDifference(
  before: Shares,
  after: Shares,
  seed: number,
  kind: MeasureKind = ofSuccess,
): SuccessDifference {
  const pairs = [...before].flatMap(([instance, share]) => {
    const other = after.get(instance)
    return other === undefined ? [] : [{ before: share, after: other }]
  })
  if (pairs.length > 0) return { instances: pairs.length, paired: pairedDifference(pairs, seed, kind) }
  if (before.size === 0 || after.size === 0) return { instances: 0 }
  if (!kind.isShare) return { instances: 0, unpaired: differenceOfMeans(before, after, seed) }
  const trials = (shares: Shares) => ({ successes: sum([...shares.values()]), n: shares.size })
  return { instances: 0, unpaired: differenceInterval(trials(before), trials(after)) }
}

function differenceOfMeans(before: Shares, after: Shares, seed: number): Interval & { difference: number } {
  const [first, second] = [[...before.values()], [...after.values()]]
  const difference = sum(second) / second.length - sum(first) / first.length
  const meanOfDrawn = (values: readonly number[], uniform: () => number) =>
    sum(values.map(() => values[Math.floor(uniform() * values.length)] ?? 0)) / values.length
  const drawn = (uniform: () => number) => meanOfDrawn(second, uniform) - meanOfDrawn(first, uniform)
  return { difference, ...percentileInterval(difference, drawn, seed) }
}

/**
 * The difference with its 95 % percentile interval of the bootstrap over instances. Where all instances agree the
 * bootstrap knows no spread: then a share has Newcombe's interval of two independent rates, which is wider.
 * @param pairs [instances], one at least
 * @param seed 32 bits, of the draws
 * @throws RangeError no pair
 */
export function pairedDifference(
  pairs: readonly Pair[],
  seed: number,
  { better, isShare }: MeasureKind = ofSuccess,
): PairedDifference {
  const n = pairs.length
  if (n === 0) throw new RangeError('no instance was played by both, expected at least one')
  const differences = pairs.map(({ before, after }) => after - before)
  const mean = sum(differences) / n
  const counts = {
    difference: mean,
    better: differences.filter((each) => (better === 'higher' ? each > 0 : each < 0)).length,
    worse: differences.filter((each) => (better === 'higher' ? each < 0 : each > 0)).length,
  }
  if (isShare && differences.every((each) => each === differences[0])) {
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
