/** Tables of differences as experiments measure them, drawn from a spread. */
import type { CrossedDifferences } from './crossed-bootstrap.ts'
import type { PlannedClaim, Spread } from './power.ts'

/** [suites][seeds][instances] */
export type Tables = readonly (readonly (readonly number[])[])[]

export function asDifferences(suites: Tables): CrossedDifferences {
  return suites.map((suite) => suite.map((row) => new Map(row.map((value, at) => [`i${at}`, value]))))
}

export function oneSuite(seeds: number, instances: number, rest: number): Spread {
  return { seeds, suites: [{ instances, rest }] }
}

export function drawnTables(
  { spread, difference, instances }: Pick<PlannedClaim, 'spread' | 'difference' | 'instances'>,
  seeds: number,
  uniform: () => number,
): Tables {
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  const effects = Array.from({ length: seeds }, () => spread.seeds * normal())
  return spread.suites.map((suite, at) => {
    const ofInstances = Array.from({ length: instances[at] ?? 0 }, () => suite.instances * normal())
    return effects.map((ofSeed) =>
      ofInstances.map((ofInstance) => difference + ofSeed + ofInstance + suite.rest * normal()),
    )
  })
}
