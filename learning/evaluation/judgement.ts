/**
 * Judgement: the figure by which an evaluation is judged, and which of two is better.
 *
 * Invariants
 * - [JUDGEMENT-1] Gates, best versions, promotions, retention and the page compare evaluations by `gainOf` alone.
 * - An evaluation whose suite has no other measure is judged by its success.
 */
import { plain } from '../statistics/figures.ts'
import type { MeasureKind } from '../statistics/paired-difference.ts'
import { type Estimate, type MeasureFigures, measureIn, measureOf } from './measure.ts'

/** The mean of a suite's measure, with its 95 % interval. */
export interface JudgedFigure extends Estimate {
  /** Name of the measure. */
  readonly of: string
  readonly better: MeasureKind['better']
  readonly unit?: string | undefined
}

/** An evaluation as far as others are compared with it. */
export interface Judged {
  /** Share of the episodes, in [0, 1]. */
  readonly success: number
  /** Where the suite has another measure than success. */
  readonly measured?: JudgedFigure | undefined
}

/** The figures that both are judged by; undefined where that is success. */
export function figuresOfBoth(
  { measured: one }: Judged,
  { measured: other }: Judged,
): readonly [JudgedFigure, JudgedFigure] | undefined {
  return one === undefined || other === undefined || one.of !== other.of ? undefined : [one, other]
}

/** How much better the second is, in the direction of their measure. */
export function gainOf(before: Judged, after: Judged): number {
  const figures = figuresOfBoth(before, after)
  if (figures === undefined) return after.success - before.success
  const [one, other] = figures
  return other.better === 'higher' ? other.value - one.value : one.value - other.value
}

/** The figure of the measure that a suite names; undefined for success, and where the evaluation has none. */
export function judgedFigure(of: string, figures: MeasureFigures | undefined): JudgedFigure | undefined {
  if (of === 'success' || figures === undefined || !Object.hasOwn(figures, of)) return undefined
  const figure = figures[of]
  const better = measureIn(of, figures)?.better
  return figure === undefined || better === undefined ? undefined : { of, better, ...figure }
}

/** All means of a result, in the order in which they are reported. */
export function judgedFigures(figures: MeasureFigures | undefined): readonly JudgedFigure[] {
  return Object.keys(figures ?? {}).flatMap((of) => judgedFigure(of, figures) ?? [])
}

/** @example judgedWords({ of: 'score', unit: 'points', value: 41, … }) // 'score 41 points (39 to 43)' */
export function judgedWords({ value, low, high, ...measure }: JudgedFigure): string {
  return `${measureWords(measure)} ${valueWords(value, measure)} (${plain(low)} to ${plain(high)})`
}

/** The name of a measure in sentences. */
export function measureWords({ of }: Pick<JudgedFigure, 'of'>): string {
  return measureOf(of)?.words ?? of
}

/** A value with its unit. */
export function valueWords(value: number, { unit }: Pick<JudgedFigure, 'unit'>): string {
  return unit === undefined ? plain(value) : `${plain(value)} ${unit}`
}
