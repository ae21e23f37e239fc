/**
 * The differences that a claim is judged by: of each seed and suite, by how much one run is better than the other on each instance.
 *
 * Invariants
 * - A seed takes part when both of its runs are done and have played an instance of each suite in common.
 */
import type { ExperimentStatement, Hypothesis } from '../../config/files/experiment.ts'
import type { CrossedDifferences, InstanceDifferences } from '../../learning/claims/crossed-bootstrap.ts'
import type { ScorePair } from '../../learning/claims/improvement.ts'
import type { Kinds } from '../../learning/claims/kinds.ts'
import type { Measure } from '../../learning/evaluation/measure.ts'
import type { Shares } from '../../learning/statistics/paired-difference.ts'
import { figureOf, type MeasuredRun, measureOfRuns } from './measured-runs.ts'

export interface ClaimDifferences {
  /** [suites, seeds] of the seeds that take part. */
  readonly differences: CrossedDifferences
  /** [suites, seeds] the means over those instances; higher is better. */
  readonly scores: readonly (readonly ScorePair[])[]
  /** [suites] */
  readonly kinds: readonly Kinds[]
  /** The other seeds. */
  readonly missing: readonly number[]
  /** Instances that both played, of the seed that has the fewest; 0 where no seed takes part. */
  readonly instances: number
}

export async function claimDifferences(
  statement: Pick<ExperimentStatement, 'seeds' | 'measure'>,
  { better, than, at, on }: Pick<Hypothesis, 'better' | 'than' | 'at' | 'on'>,
  runs: readonly MeasuredRun[],
): Promise<ClaimDifferences> {
  const measure = measureOfRuns(statement, runs)
  const runAt = (arm: string, seed: number) => runs.find((each) => each.arm === arm && each.seed === seed)
  const missing: number[] = []
  const pairs: OnSuite[][] = []
  const kinds: Kinds[] = []
  for (const seed of statement.seeds) {
    const [one, other] = [runAt(better.arm, seed), runAt(than.arm, seed)]
    const bySuite: OnSuite[] = []
    for (const suite of on) {
      const first = one && figureOf(one, suite, better.version, at)
      const second = other && figureOf(other, suite, than.version, at)
      if (first === undefined || second === undefined) break
      // All runs play the same instances.
      kinds[bySuite.length] ??= (await first.kinds?.()) ?? new Map()
      const found = pairedOn(await first.shares(), await second.shares(), measure)
      if (found.differences.size > 0) bySuite.push(found)
    }
    if (bySuite.length === on.length) pairs.push(bySuite)
    else missing.push(seed)
  }
  const counts = pairs.map((bySuite) => bySuite.reduce((sum, { differences }) => sum + differences.size, 0))
  return {
    differences: on.map((_, at) =>
      pairs.map((bySuite) => bySuite[at]?.differences ?? new Map<string, number>()),
    ),
    kinds,
    scores: on.map((_, at) => pairs.flatMap((bySuite) => bySuite[at]?.scores ?? [])),
    missing,
    instances: pairs.length === 0 ? 0 : Math.min(...counts),
  }
}

/** Two runs of a seed on a suite. */
interface OnSuite {
  readonly differences: InstanceDifferences
  readonly scores: ScorePair
}

/** By how much the first is better on each instance that both played, and how good both are on these. */
function pairedOn(better: Shares, than: Shares, measure: Measure): OnSuite {
  const sign = measure.better === 'higher' ? 1 : -1
  const both = [...better].flatMap(([instance, share]) => {
    const other = than.get(instance)
    return other === undefined ? [] : [{ instance, better: sign * share, than: sign * other }]
  })
  const meanOf = (side: keyof ScorePair) => both.reduce((sum, each) => sum + each[side], 0) / both.length
  return {
    differences: new Map(both.map((each) => [each.instance, each.better - each.than])),
    scores: { better: meanOf('better'), than: meanOf('than') },
  }
}
