/**
 * The lines of a suite: what the run reaches beside what it began with and what the expert of the task reaches.
 *
 * Invariants
 * - [SUITE-LINES-1] The warm start without reinforcement learning and the expert are at one height from the first evaluation to
 *   the latest update; each is there only where it was measured.
 * - [SUITE-LINES-2] Each version has a point of its own, also where several stand at one step, as after a roll-back.
 * - [SUITE-LINES-3] An incomplete evaluation is in no line.
 */
import { isComplete } from '../../../../learning/evaluation/evaluation-completeness.ts'
import type { Estimate } from '../../../../learning/evaluation/measure.ts'
import type { RunCurves } from '../../../contract/curves.ts'
import type { DrawnMeasure } from '../../../contract/drawn-measures.ts'
import type { EvaluationRow, ExpertRow } from '../../../contract/evaluation.ts'
import type { Axis, Series } from '../../charts/series.ts'
import { type AxisName, axisOf } from './axis.ts'

/** An evaluation that has ended with a figure which counts. */
export type FoundEvaluation = EvaluationRow & Required<Pick<EvaluationRow, 'found'>>

/** An incomplete evaluation is shown by the table of evaluations alone. */
export function isFound(evaluation: EvaluationRow): evaluation is FoundEvaluation {
  return evaluation.found !== undefined && isComplete(evaluation.found)
}

interface SuiteLines {
  readonly axis: Axis
  readonly series: readonly Series[]
}

/** @param evaluations of the suite, as they started; of several of one version the latest counts */
export function suiteLines(
  evaluations: readonly FoundEvaluation[],
  expert: ExpertRow | undefined,
  {
    curves,
    axisName,
    colour,
    measure: { of, pick },
  }: {
    curves: RunCurves
    axisName: AxisName
    colour: string
    measure: Pick<DrawnMeasure, 'of' | 'pick'>
  },
): SuiteLines {
  const points = latestOfVersions(evaluations)
  const axis = axisOf(axisName, curves)
  const places = points.map(({ step }) => placeOf(step, curves, axis))
  const now = axis.values.at(-1)
  const values = now === undefined || now <= (places.at(-1) ?? now) ? places : [...places, now]
  const level = (label: string, value: number | undefined, of: string): readonly Series[] =>
    value === undefined ? [] : [{ label, colour: of, isDashed: true, values: values.map(() => value) }]
  const measured = (which: keyof Estimate) =>
    values.map((_, at) => {
      const point = points[at]
      return (point && pick(point.found)?.[which]) ?? null
    })
  const warmStart = points.find(({ version }) => version === 0)
  return {
    axis: { ...axis, values },
    series: [
      {
        label: 'with reinforcement learning',
        colour,
        isSparse: true,
        values: measured('value'),
        low: measured('low'),
        high: measured('high'),
      },
      ...level('warm start alone', warmStart && pick(warmStart.found)?.value, 'var(--quiet)'),
      // Experts are measured by success alone.
      ...level('the expert', of === 'success' ? expert?.success.value : undefined, 'var(--ink)'),
    ],
  }
}

/** One evaluation of each version, in their order. @param evaluations of a suite, as they started */
export function latestOfVersions(evaluations: readonly FoundEvaluation[]): readonly FoundEvaluation[] {
  return [...new Map(evaluations.map((each) => [each.version, each])).values()].sort(
    (a, b) => a.version - b.version,
  )
}

/** The warm start is where the axis begins. */
export function placeOf(step: number, { step: steps }: RunCurves, { values }: Axis): number {
  const at = steps.findLastIndex((each) => each <= step)
  return at === -1 ? 0 : (values[at] ?? 0)
}
