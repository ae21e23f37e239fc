/** A small curve in a row of a table: shares of success, from 0 at the bottom to 1 at the top. */
import type { FunctionComponent } from 'preact'
import { percent } from '../../../learning/statistics/percent.ts'

const [width, height] = [120, 26]

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
