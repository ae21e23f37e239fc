/**
 * Differences by kind of problem: where an arm is better. They explain a claim and are not judged: no test is made of so many.
 *
 * Invariants
 * - [KINDS-1] Kinds divide the instances: over one suite the mean of their differences, weighted by instances, is the claim's difference.
 * - A kind of which a seed has no instance is left out.
 */
import type { Interval } from '../statistics/interval.ts'
import { meanInterval } from '../statistics/student-t.ts'
import { type CrossedDifferences, seedDifferences } from './crossed-bootstrap.ts'

/** By instance. */
export type Kinds = ReadonlyMap<string, string>

export interface KindDifference extends Partial<Interval> {
  readonly kind: string
  /** Instances of the kind over all suites, of the seed that has the fewest. */
  readonly instances: number
  /** Mean over the seeds; with Student's 95 % interval from two seeds on. */
  readonly difference: number
}

/**
 * @param differences [suites, seeds]
 * @param kinds [suites]
 * @returns by kind, in alphabetical order; empty where there are fewer than two
 */
export function differencesByKind(
  differences: CrossedDifferences,
  kinds: readonly Kinds[],
): readonly KindDifference[] {
  const names = [...new Set(kinds.flatMap((ofSuite) => [...ofSuite.values()]))].sort()
  if (names.length < 2) return []
  return names.flatMap((kind) => {
    const own = differences.flatMap((suite, at) => {
      const ofKind = suite.map(
        (row) => new Map([...row].filter(([instance]) => kinds[at]?.get(instance) === kind)),
      )
      return ofKind.some(({ size }) => size > 0) ? [ofKind] : []
    })
    const counts = (own[0] ?? []).map((_, seed) => own.map((suite) => suite[seed]?.size ?? 0))
    if (own.length === 0 || counts.some((ofSeed) => ofSeed.includes(0))) return []
    const seeds = seedDifferences(own)
    const instances = Math.min(...counts.map((ofSeed) => ofSeed.reduce((sum, size) => sum + size, 0)))
    const difference = seeds.reduce((sum, each) => sum + each, 0) / seeds.length
    if (seeds.length < 2) return [{ kind, instances, difference }]
    const { low, high } = meanInterval(seeds)
    return [{ kind, instances, difference, low, high }]
  })
}
