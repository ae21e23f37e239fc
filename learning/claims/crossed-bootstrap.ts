/**
 * Bootstrap of paired differences that two things make vary: the seed that a policy was trained with, and the instance
 * that it plays. Both are drawn again, independently of one another, because all seeds play the same instances.
 *
 * Source: A. B. Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1 (2007). It is somewhat too wide, never
 * too narrow.
 *
 * Invariants
 * - [CROSSED-1] The interval contains what was measured, and turns round with the sign of the differences.
 * - Suites count alike, however many instances they have; of each its own instances are drawn.
 * - The same differences and seed give the same interval.
 */
import { percentileInterval } from '../statistics/bootstrap.ts'
import { type Interval, wilsonInterval } from '../statistics/interval.ts'
import { normalQuantile } from '../statistics/normal.ts'

/** By instance, the difference of two policies on it; those that one of them has no result of are left out. */
export type InstanceDifferences = ReadonlyMap<string, number>

/** [suites, seeds] */
export type CrossedDifferences = readonly (readonly InstanceDifferences[])[]

/**
 * The difference of each seed: the mean over suites of the mean over instances.
 * @returns [seeds]
 * @throws RangeError a seed without an instance of a suite
 */
export function seedDifferences(suites: CrossedDifferences): readonly number[] {
  const seeds = suites[0]?.length ?? 0
  return Array.from({ length: seeds }, (_, seed) =>
    meanOf(
      suites.map((suite) => {
        const differences = [...(suite[seed]?.values() ?? [])]
        if (differences.length === 0)
          throw new RangeError(`seed ${seed} has no instance that both played, expected at least one`)
        return meanOf(differences)
      }),
    ),
  )
}

/**
 * The 95 % interval of the mean over seeds, suites and instances. Where all differences agree the bootstrap knows no spread:
 * then that of shares is as wide as Wilson's for an outcome that none of so many instances had.
 * @param seed 32 bits, of the draws
 * @throws RangeError as `seedDifferences`
 */
export function crossedInterval(suites: CrossedDifferences, seed: number, isShare = true): Interval {
  const each = seedDifferences(suites)
  const tables = suites.map(tableOf)
  const all = suites.flatMap((suite) => suite.flatMap((differences) => [...differences.values()]))
  if (isShare && all.every((difference) => difference === all[0])) {
    const { high: reach } = wilsonInterval(
      0,
      tables.reduce((sum, { instances }) => sum + instances, 0),
    )
    const mean = meanOf(each)
    return { low: Math.max(-1, mean - reach), high: Math.min(1, mean + reach) }
  }
  const figureOf = (uniform: () => number) => {
    const drawn = tables.map(({ instances }) => countsOf(instances, uniform))
    let total = 0
    // A seed may be drawn several times, and has the same mean each time.
    const means: number[] = []
    for (let i = 0; i < each.length; i++) {
      const chosen = Math.floor(uniform() * each.length)
      total += means[chosen] ??= meanOf(
        tables.map(({ rows }, at) => weightedMean(rows[chosen], drawn[at]) ?? each[chosen] ?? 0),
      )
    }
    return total / each.length
  }
  return percentileInterval(meanOf(each), figureOf, seed)
}

/** How the instances of a suite differ over all seeds: mean squares of what is left of a table without the means of its rows. */
export interface InstanceSpread {
  readonly instances: number
  /** Mean square of the means of columns. */
  readonly columns: number
  /** Mean square of what neither rows nor columns explain. */
  readonly rest: number
}

/** @param table [seeds][instances] without gaps */
export function instanceSpread(table: readonly (readonly number[])[]): InstanceSpread {
  const [n, instances] = [table.length, table[0]?.length ?? 0]
  const rows = table.map(meanOf)
  const columns = Array.from({ length: instances }, (_, at) => meanOf(table.map((row) => row[at] ?? 0)))
  const mean = meanOf(rows)
  let rest = 0
  for (const [seed, row] of table.entries())
    for (const [at, value] of row.entries())
      rest += (value - (rows[seed] ?? 0) - (columns[at] ?? 0) + mean) ** 2
  return {
    instances,
    columns: meanOf(columns.map((value) => (value - mean) ** 2)),
    rest: rest / (n * instances),
  }
}

/**
 * `crossedInterval` without draws: the bootstrap's variance in closed form (Owen 2007, section 3), as that of a normal distribution.
 * @param seeds [seeds] the difference of each, the mean over suites
 */
export function expectedCrossedInterval(
  seeds: readonly number[],
  suites: readonly InstanceSpread[],
): Interval {
  const [n, k] = [seeds.length, suites.length]
  const mean = meanOf(seeds)
  const ofSeeds = meanOf(seeds.map((each) => (each - mean) ** 2)) / n
  const ofInstances = suites.reduce(
    (sum, { instances, columns, rest }) => sum + (columns + rest / n) / instances,
    0,
  )
  const reach = normalQuantile(0.975) * Math.sqrt(ofSeeds + ofInstances / k ** 2)
  return { low: mean - reach, high: mean + reach }
}

interface DifferenceTable {
  readonly instances: number
  /** [seeds] */
  readonly rows: readonly DifferenceRow[]
}

interface DifferenceRow {
  /** [instances] NaN where there is no difference. */
  readonly values: Float64Array
  readonly isComplete: boolean
}

function tableOf(suite: readonly InstanceDifferences[]): DifferenceTable {
  const names = [...new Set(suite.flatMap((differences) => [...differences.keys()]))]
  const rows = suite.map((differences) => ({
    values: Float64Array.from(names, (name) => differences.get(name) ?? Number.NaN),
    isComplete: differences.size === names.length,
  }))
  return { instances: names.length, rows }
}

/** How often each instance is drawn when as many are drawn as there are. */
function countsOf(instances: number, uniform: () => number): Uint32Array {
  const counts = new Uint32Array(instances)
  for (let i = 0; i < instances; i++) {
    const at = Math.floor(uniform() * instances)
    counts[at] = (counts[at] ?? 0) + 1
  }
  return counts
}

/** Undefined where nothing of the row was drawn. */
function weightedMean(row: DifferenceRow | undefined, counts: Uint32Array | undefined): number | undefined {
  let [total, weight] = [0, 0]
  if (row === undefined || counts === undefined) return undefined
  // The innermost loop of the bootstrap, hence without a call for each value.
  const { values } = row
  for (let at = 0; at < values.length; at++) {
    const count = counts[at] ?? 0
    const value = values[at] ?? 0
    if (!row.isComplete && Number.isNaN(value)) continue
    total += count * value
    weight += count
  }
  return weight === 0 ? undefined : total / weight
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
