/**
 * A measure of several runs on a suite, in one chart.
 *
 * Invariants
 * - [SUITE-CURVES-1] Each run's evaluations stand where its own updates do; a run that was not measured on the suite has no
 *   curve.
 * - [MERGED-1] Every value keeps the place that its own axis gave it; between its points a curve has none.
 */
import type { Column, RunCurves } from '../../../contract/curves.ts'
import type { DrawnMeasure } from '../../../contract/drawn-measures.ts'
import type { EvaluationRow } from '../../../contract/evaluation.ts'
import type { Axis, Series } from '../../charts/series.ts'
import { type AxisName, axisOf } from '../run/axis.ts'
import { isFound, latestOfVersions, placeOf } from '../run/suite-lines.ts'

export interface MeasuredCurves {
  readonly curves: RunCurves
  readonly evaluations: readonly EvaluationRow[]
  readonly colour: string
}

/** One axis for several curves, which have points at different places. */
interface MergedAxis {
  /** All places, in order, each once. */
  readonly values: readonly number[]
  /** A column of the n-th curve, along the merged axis. */
  readonly spread: (curve: number, column: Column) => Column
}

/** Suites that any of the runs has a finding on, in the order in which they were met. */
export function suitesOf(runs: readonly MeasuredCurves[]): readonly string[] {
  return [
    ...new Set(runs.flatMap(({ evaluations }) => evaluations.filter(isFound).map(({ suite }) => suite))),
  ]
}

/** Undefined where no run was measured on the suite. */
export function suiteCurves(
  suite: string,
  runs: readonly MeasuredCurves[],
  axisName: AxisName,
  { pick }: Pick<DrawnMeasure, 'pick'>,
): { readonly axis: Axis; readonly series: readonly Series[] } | undefined {
  const measured = runs.flatMap(({ curves, evaluations, colour }) => {
    const points = latestOfVersions(evaluations.filter(isFound).filter((each) => each.suite === suite))
    const axis = axisOf(axisName, curves)
    const places = points.map(({ step }) => placeOf(step, curves, axis))
    return points.length === 0 ? [] : [{ label: curves.run, colour, points, axis, places }]
  })
  const [first] = measured
  if (first === undefined) return undefined
  const merged = mergedAxis(measured.map(({ places }) => places))
  const series = measured.map(({ label, colour, points }, curve): Series => {
    const column = (which: 'value' | 'low' | 'high') =>
      merged.spread(
        curve,
        points.map(({ found }) => pick(found)?.[which] ?? null),
      )
    const [values, low, high] = [column('value'), column('low'), column('high')]
    return { label, colour, values, low, high, isSparse: true, isGapless: true }
  })
  return { axis: { ...first.axis, values: merged.values }, series }
}

/** @param axes [curves] each in order */
export function mergedAxis(axes: readonly (readonly number[])[]): MergedAxis {
  const values = [...new Set(axes.flat())].sort((a, b) => a - b)
  const position = new Map(values.map((value, at) => [value, at]))
  return {
    values,
    spread(curve, column) {
      const spread: (number | null)[] = values.map(() => null)
      axes[curve]?.forEach((value, at) => {
        const to = position.get(value)
        if (to !== undefined) spread[to] = column[at] ?? null
      })
      return spread
    },
  }
}
