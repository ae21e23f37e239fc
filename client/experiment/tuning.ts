/**
 * Tuning: which point of its grid an arm is.
 *
 * Invariants
 * - [TUNING-1] The choice follows from the stored evaluations of the tuning seeds alone: of the means on the first suite the best, of
 *   equal ones the first.
 * - [TUNING-2] An arm is chosen when all runs of its points are done and completely evaluated.
 */
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import type { Choices } from '../../config/files/grid.ts'
import { figureOf, type MeasuredRun, measureOfRuns } from './measured-runs.ts'

type TunedStatement = Pick<ExperimentStatement, 'tune' | 'suites' | 'version' | 'measure'> & {
  readonly arms: readonly { readonly arm: string; readonly pointOf?: string | undefined }[]
}

/** The choices that can be made by now. */
export function choicesOf(statement: TunedStatement, runs: readonly MeasuredRun[]): Choices {
  const { arms, tune, suites, version } = statement
  const { better } = measureOfRuns(statement, runs)
  const [suite = ''] = suites
  const chosen = Map.groupBy(arms, ({ pointOf }) => pointOf)
  chosen.delete(undefined)
  return Object.fromEntries(
    [...chosen].flatMap(([arm, points]) => {
      const means = points.map((point) => {
        const values = (tune?.seeds ?? []).map((seed) => {
          const run = runs.find((each) => each.arm === point.arm && each.seed === seed)
          return run === undefined ? undefined : figureOf(run, suite, version)?.value
        })
        return values.reduce<number>((sum, value) => sum + (value ?? Number.NaN), 0) / values.length
      })
      if (means.some(Number.isNaN)) return []
      const best = better === 'higher' ? Math.max(...means) : Math.min(...means)
      return [[arm, points[means.indexOf(best)]?.arm]]
    }),
  )
}

/** Whether every arm with points is chosen. */
export function isTuned({ arms }: Pick<TunedStatement, 'arms'>, choices: Choices): boolean {
  return arms.every(({ pointOf }) => pointOf === undefined || choices[pointOf] !== undefined)
}
