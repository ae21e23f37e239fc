/**
 * Series: what a chart draws, and how it is laid out for the plot library.
 *
 * Invariants
 * - [SERIES-1] A stack's columns add up: the first one drawn is the sum of all, and each value is reported as itself.
 * - [SERIES-2] Every column is as long as the axis; what is missing is null, and no line goes through it.
 * - [SERIES-3] Each mark belongs to one value of the axis, the nearest, and all marks of one value are listed together.
 */

import type { Column } from '../../contract/curves.ts'

/** One thing that a chart shows. */
export interface Series {
  readonly label: string
  readonly values: Column
  /** Interval around the values. */
  readonly low?: Column
  readonly high?: Column
  /** A colour of the style sheet. */
  readonly colour: string
  readonly isDashed?: boolean
  /** Values that are few and apart, such as evaluations: with points, and a line from one to the next. */
  readonly isSparse?: boolean
  /** The line goes on over places where only others have values. */
  readonly isGapless?: boolean
}

/** Something that happened at a point of the axis. */
export interface Mark {
  /** In units of the axis. */
  readonly at: number
  readonly text: string
  readonly colour: string
}

/** The unit of the axis. */
export interface Axis {
  readonly values: readonly number[]
  readonly label: string
  readonly write: (value: number) => string
  /** Steps between lines of the grid that make sense; absent: the library's decimal ones. */
  readonly steps?: readonly number[]
}

export interface ChartProps {
  readonly title: string
  readonly axis: Axis
  readonly series: readonly Series[]
  readonly marks?: readonly Mark[]
  readonly write?: (value: number) => string
  /** Bounds of the values that always show, e.g. 0 and 1 of a share; null: where the values end. */
  readonly range?: readonly [number | null, number | null]
  readonly kind?: 'lines' | 'stack'
  /** Charts of one group share their cursor. */
  readonly group?: string
  readonly height?: number
}

/** Columns in the order in which the library takes them: of each series its values, then low and high where it has them. */
export function columnsOf(
  axis: readonly number[],
  series: readonly Series[],
): (number | null | undefined)[][] {
  return [
    [...axis],
    ...series.flatMap(({ values, low, high }) => [
      [...values],
      ...(low && high ? [[...low], [...high]] : []),
    ]),
  ]
}

/** Cumulative columns, the sum of all first, so that each next one is drawn over it. */
export function stackedColumns(axis: readonly number[], series: readonly Series[]): (number | null)[][] {
  const sums: (number | null)[][] = []
  let before: readonly (number | null)[] = axis.map(() => null)
  for (const { values } of series) {
    const sum = axis.map((_, at) => {
      const [value = null, under = null] = [values[at], before[at]]
      return value === null ? under : value + (under ?? 0)
    })
    sums.push(sum)
    before = sum
  }
  return [[...axis], ...sums.reverse()]
}

/** In one sentence, for those who do not see the drawing. */
export function chartSummary({ label, values }: Series, write: (value: number) => string): string {
  const known = values.filter((value) => value !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) return `${label}: no values yet.`
  const [low, high] = known.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [first, first],
  )
  return `${label}: from ${write(first)} to ${write(last)}, between ${write(low)} and ${write(high)}.`
}

/** The marks at a value of the axis. @param index of the value */
export function marksAt(marks: readonly Mark[], axis: readonly number[], index: number): readonly Mark[] {
  const value = axis[index]
  return value === undefined ? [] : marks.filter(({ at }) => nearestValue(axis, at) === value)
}

/** The first of those that are nearest; undefined on an empty axis. */
function nearestValue(axis: readonly number[], to: number): number | undefined {
  return axis.reduce<number | undefined>(
    (best, value) => (best === undefined || Math.abs(value - to) < Math.abs(best - to) ? value : best),
    undefined,
  )
}

/** A run of many orders would fill each label of a chart. */
const mostListedMarks = 20

/** In words, for those who do not see the drawing; the latest ones, where there are many. */
export function marksSummary(marks: readonly Mark[], axis: Pick<Axis, 'label' | 'write'>): string {
  if (marks.length === 0) return ''
  const byPlace = marks.toSorted((a, b) => a.at - b.at).slice(-mostListedMarks)
  const before = marks.length - byPlace.length
  const words = byPlace.map(({ at, text }) => `at ${axis.label} ${axis.write(at)} ${text}`)
  return ` Marks: ${before === 0 ? '' : `${before} earlier ones, `}${words.join('; ')}.`
}

/** The column smoothed by its neighbours: the mean over so many values before and after. @param reach 0 changes nothing */
export function smoothed(values: Column, reach: number): Column {
  if (reach === 0) return values
  return values.map((value, at) => {
    if (value === null) return null
    let [sum, of] = [0, 0]
    for (const near of values.slice(Math.max(0, at - reach), at + reach + 1)) {
      if (near === null) continue
      sum += near
      of++
    }
    return sum / of
  })
}
