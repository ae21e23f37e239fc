/**
 * The differences that a claim is judged by: of each seed and suite, by how much one run is better than the other on each instance.
 *
 * Invariants
 * - A seed takes part when both of its runs are done and have played an instance of each suite in common.
 */
import type { ExperimentStatement, Hypothesis } from '../../config/files/experiment.ts'
import type { CrossedDifferences, InstanceDifferences } from '../../learning/claims/crossed-bootstrap.ts'
import { type MeasureName, measures } from '../../learning/evaluation/measure.ts'
import type { Shares } from '../../learning/statistics/paired-difference.ts'
import { figureOf, type MeasuredRun } from './measured-runs.ts'

export interface ClaimDifferences {
  /** [suites, seeds] of the seeds that take part. */
  readonly differences: CrossedDifferences
  /** The other seeds. */
  readonly missing: readonly number[]
  /** Instances that both played, of the seed that has the fewest; 0 where no seed takes part. */
  readonly instances: number
}

export async function claimDifferences(
  { seeds, measure = 'success' }: Pick<ExperimentStatement, 'seeds' | 'measure'>,
  { better, than, at, on }: Pick<Hypothesis, 'better' | 'than' | 'at' | 'on'>,
  runs: readonly MeasuredRun[],
): Promise<ClaimDifferences> {
  const runAt = (arm: string, seed: number) => runs.find((each) => each.arm === arm && each.seed === seed)
  const missing: number[] = []
  const pairs: InstanceDifferences[][] = []
  for (const seed of seeds) {
    const [one, other] = [runAt(better.arm, seed), runAt(than.arm, seed)]
    const bySuite: InstanceDifferences[] = []
    for (const suite of on) {
      const first = one && figureOf(one, suite, better.version, at)
      const second = other && figureOf(other, suite, than.version, at)
      if (first === undefined || second === undefined) break
      const differences = differencesOf(await first.shares(), await second.shares(), measure)
      if (differences.size > 0) bySuite.push(differences)
    }
    if (bySuite.length === on.length) pairs.push(bySuite)
    else missing.push(seed)
  }
  const counts = pairs.map((bySuite) => bySuite.reduce((sum, { size }) => sum + size, 0))
  return {
    differences: on.map((_, at) => pairs.map((bySuite) => bySuite[at] ?? new Map<string, number>())),
    missing,
    instances: pairs.length === 0 ? 0 : Math.min(...counts),
  }
}

/** By how much the first is better on each instance. */
function differencesOf(better: Shares, than: Shares, measure: MeasureName): InstanceDifferences {
  const sign = measures[measure].better === 'higher' ? 1 : -1
  return new Map(
    [...better].flatMap(([instance, share]) => {
      const other = than.get(instance)
      return other === undefined ? [] : [[instance, sign * (share - other)] as const]
    }),
  )
}
