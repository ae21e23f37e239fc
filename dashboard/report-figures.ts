/**
 * The figures of a report as pictures, for papers and slides.
 *
 * Invariants
 * - [REPORT-FIGURES-1] Their data are in the answers of the report: nothing is computed from episodes here.
 */
import type { CurvePoint, ReportedCurve } from '../client/experiment/experiment-report.ts'
import { expertName } from '../client/experiment/experiment-report.ts'
import { learningCurve } from '../client/experiment/learning-curve.ts'
import { isComplete } from '../learning/evaluation/evaluation-completeness.ts'
import type { RunCurves } from './contract/curves.ts'
import type { EvaluationsAnswer } from './contract/evaluation.ts'

/** A file of a report. */
export interface Figure {
  readonly name: string
  readonly svg: string
}

/** Success on each suite beside the expert, and in training by task; both over versions. */
export function figuresOf(run: string, evaluations: EvaluationsAnswer, curves: RunCurves): readonly Figure[] {
  const suites = [...new Set(evaluations.evaluations.map(({ suite }) => suite))]
  const drawn = suites.map((suite) => ({
    name: `success-${suite}.svg`,
    title: `${run}: success on ${suite}`,
    lines: suiteLines(suite, evaluations),
  }))
  const training = {
    name: 'success-in-training.svg',
    title: `${run}: success in training`,
    lines: trainingLines(curves),
  }
  return [...drawn, training].flatMap(({ name, title, lines }) =>
    lines.length === 0 ? [] : [{ name, svg: learningCurve(lines, title) }],
  )
}

function suiteLines(
  suite: string,
  { evaluations, experts }: Pick<EvaluationsAnswer, 'evaluations' | 'experts'>,
): readonly ReportedCurve[] {
  const points = evaluations
    .flatMap((row) =>
      row.suite === suite && row.found !== undefined && isComplete(row.found)
        ? [pointOf(row.version, row.found.success)]
        : [],
    )
    .toSorted((a, b) => a.version - b.version)
  if (points.length === 0) return []
  const expert = experts.find((row) => row.suite === suite)
  // One point is no line.
  const level = expert && points.map(({ version }) => pointOf(version, expert.success))
  return [
    { arm: 'policy', suite, points },
    ...(level === undefined ? [] : [{ arm: expertName, suite, points: level }]),
  ]
}

function trainingLines({ version, tasks }: Pick<RunCurves, 'version' | 'tasks'>): readonly ReportedCurve[] {
  return Object.entries(tasks).flatMap(([task, { success, success_low, success_high }]) => {
    const points = success.flatMap((value, at) =>
      value === null
        ? []
        : [
            pointOf(version[at] ?? 0, {
              value,
              low: success_low[at] ?? value,
              high: success_high[at] ?? value,
            }),
          ],
    )
    return points.length === 0 ? [] : [{ arm: task, suite: 'training', points }]
  })
}

function pointOf(
  version: number,
  { value, low, high }: { readonly value: number; readonly low: number; readonly high: number },
): CurvePoint {
  return { version, mean: value, low, high, seeds: 1 }
}
