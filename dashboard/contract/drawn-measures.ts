/**
 * Drawn measures: the curves of a suite, one for each number that its evaluations are looked at by.
 *
 * Invariants
 * - [DRAWN-MEASURES-1] A suite has a curve of its success, one of the measure that it is judged by, and one of each metric of its
 *   environment; each names its unit, and has the interval of each point.
 */
import { type JudgedFigure, measureWords, valueWords } from '../../learning/evaluation/judgement.ts'
import { type Estimate, measureOf } from '../../learning/evaluation/measure.ts'
import { percent } from '../../learning/statistics/percent.ts'
import type { EvaluationRow } from './evaluation.ts'

type Found = Required<EvaluationRow>['found']

export interface DrawnMeasure {
  readonly of: string
  /** @example 'Score on held_out, points' */
  readonly titleOn: (suite: string) => string
  readonly isShare: boolean
  readonly write: (value: number) => string
  /** Undefined where an evaluation has none. */
  readonly pick: (found: Found) => Estimate | undefined
}

const success: DrawnMeasure = {
  of: 'success',
  titleOn: (suite) => `Success on ${suite}`,
  isShare: true,
  write: (value) => percent(value, 0),
  pick: (found) => found.success,
}

/** @param found of the evaluations of a suite */
export function drawnMeasures(found: readonly Found[]): readonly DrawnMeasure[] {
  const means = found.flatMap(({ measured, means }) =>
    means.filter(({ of }) => of === measured?.of || measureOf(of) === undefined),
  )
  return [success, ...[...new Map(means.map((figure) => [figure.of, figure])).values()].map(drawnMean)]
}

function drawnMean(figure: JudgedFigure): DrawnMeasure {
  const { of, unit } = figure
  const words = measureWords(figure)
  const name = `${words.charAt(0).toUpperCase()}${words.slice(1)}`
  return {
    of,
    titleOn: (suite) => `${name} on ${suite}${unit === undefined ? '' : `, ${unit}`}`,
    isShare: false,
    write: (value) => valueWords(value, figure),
    pick: ({ means }) => means.find((each) => each.of === of),
  }
}
