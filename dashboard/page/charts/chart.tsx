/**
 * A chart: curves with their intervals or a stack of bars, over an axis that several charts share.
 *
 * Invariants
 * - The values under the cursor are in the legend of every chart of the group, so that one look reads one moment.
 * - A chart that gets more values keeps the stretch that was zoomed to.
 * - Words describe the chart too, with all its marks.
 */
import { type Signal, useSignal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { plain } from '../../../learning/statistics/figures.ts'
import { isDark } from '../theme.ts'
import { plotOf } from './plot.ts'
import { type ChartProps, chartSummary, marksAt, marksSummary, type Series } from './series.ts'

export const Chart: FunctionComponent<ChartProps> = (props) => {
  const { title, axis, series, marks = [], write = plain } = props
  // A signal: moving the cursor redraws the legend, not the chart.
  const cursor = useSignal<number | null>(null)
  const drawing = useRef<HTMLDivElement>(null)
  const plot = useRef<ReturnType<typeof plotOf>>(undefined)
  const dark = isDark.value
  // The form of the drawing: where only values are new, the drawing is kept.
  const form = JSON.stringify([dark, props.kind, props.range, axis.label, ...series.map(formOf)])
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    const into = drawing.current
    if (into === null) return
    const made = plotOf(
      into,
      () => latest.current,
      (index) => {
        cursor.value = index
      },
    )
    plot.current = made
    return () => made.destroy()
  }, [form])
  useEffect(() => plot.current?.update())
  const values = series.map((each) => chartSummary(each, write)).join(' ')
  const summary = `${title}. ${values}${marksSummary(marks, axis)}`
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <Legend {...props} cursor={cursor} />
      </figcaption>
      <div class="drawing" role="img" aria-label={summary} ref={drawing} />
    </figure>
  )
}

function formOf({ label, colour, low, isDashed, isSparse }: Series): unknown {
  return [label, colour, low !== undefined, isDashed, isSparse]
}

/** The value of each series at the cursor, or its last one. */
const Legend: FunctionComponent<ChartProps & { cursor: Signal<number | null> }> = ({
  axis,
  series,
  marks = [],
  write = plain,
  cursor: pointed,
}) => {
  const cursor = pointed.value
  const at = cursor === null ? undefined : axis.values[cursor]
  const marked = cursor === null ? [] : marksAt(marks, axis.values, cursor)
  return (
    <ul class="legend">
      {at === undefined ? null : (
        <li>
          {axis.label} <b>{axis.write(at)}</b>
        </li>
      )}
      {series.map((each) => (
        <li key={each.label}>
          <span class="swatch" style={{ '--swatch': each.colour }} />
          {each.label} <b>{valueText(each, cursor, write)}</b>
        </li>
      ))}
      {marked.map(({ text }, index) => (
        <li key={`${index} ${text}`}>{text}</li>
      ))}
    </ul>
  )
}

function valueText(
  { values, low, high }: Series,
  cursor: number | null,
  write: (value: number) => string,
): string {
  const at = cursor ?? values.findLastIndex((value) => value !== null)
  const [value, from, to] = [values[at], low?.[at], high?.[at]]
  if (value === null || value === undefined) return '–'
  const interval = from == null || to == null || cursor === null ? '' : ` (${write(from)} to ${write(to)})`
  return `${write(value)}${interval}`
}
