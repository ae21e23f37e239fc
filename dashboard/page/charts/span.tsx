/** A figure with its interval, as a point on a line: rows of them are compared at a glance. */
import type { FunctionComponent } from 'preact'
import type { Interval } from '../../../learning/statistics/interval.ts'

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
