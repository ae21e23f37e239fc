/** A figure with its interval, as a point on a line: rows of them are compared at a glance. */
import type { FunctionComponent } from 'preact'
import type { Interval } from '../../../learning/statistics/interval.ts'
import { percent } from '../../../learning/statistics/percent.ts'

interface SpanProps extends Interval {
  readonly value: number
  readonly colour: string
  /** The ends of the line. */
  readonly from: number
  readonly to: number
  readonly label: string
}

export const Span: FunctionComponent<SpanProps> = ({ value, low, high, colour, from, to, label }) => {
  const share = (at: number) => `${(100 * (Math.min(to, Math.max(from, at)) - from)) / (to - from)}%`
  const width = `calc(${share(high)} - ${share(low)})`
  return (
    <span class="span" role="img" aria-label={label} style={{ '--swatch': colour, '--zero': share(0) }}>
      <i style={{ left: share(low), width }} />
      <b style={{ left: share(value) }} />
    </span>
  )
}

const [width, height] = [120, 26]

/** A small curve in a row of a table: shares of success, from 0 at the bottom to 1 at the top. */
export const Spark: FunctionComponent<{ values: readonly number[] }> = ({ values }) => {
  const [first, last] = [values[0], values.at(-1)]
  if (first === undefined || last === undefined) return <span class="quiet">–</span>
  const points = values.map((value, at) => {
    const x = values.length === 1 ? width : (at / (values.length - 1)) * width
    return `${x.toFixed(1)},${((1 - value) * height).toFixed(1)}`
  })
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Success from ${percent(first)} to ${percent(last)}`}
    >
      <path class="area" d={`M0,${height}L${points.join('L')}L${width},${height}Z`} />
      <path d={`M${points.join('L')}`} />
    </svg>
  )
}
