/**
 * The drawing of a chart by uPlot, which draws 10⁵ points in some milliseconds.
 *
 * Invariants
 * - Whatever is zoomed to stays when values are added; a double click shows all again.
 * - A drawing is as wide as what holds it, and is destroyed with it.
 * - [PLOT-1] It is redrawn only where its contents differ, and only while it is seen, or when it is seen again.
 */
import UPlot from 'uplot'
import { resolved, translucent } from './colours.ts'
import { type ChartProps, columnsOf, type Series, stackedColumns } from './series.ts'

const defaultHeight = 190
const font = '11px system-ui, sans-serif'

/** A drawing that can be given new values. */
export interface Plot {
  /** Draws what the props now say; where it is not seen, when it is. */
  update(): void
  destroy(): void
}

/**
 * @param into holds the drawing
 * @param props as they are at the time of the call
 * @param onCursor the position under the cursor; null where it is elsewhere
 */
export function plotOf(
  into: HTMLElement,
  props: () => ChartProps,
  onCursor: (index: number | null) => void,
): Plot {
  const plot = new UPlot(optionsOf(into, props, onCursor), dataOf(props()), into)
  const watcher = new ResizeObserver(() => {
    const { width } = into.getBoundingClientRect()
    if (width > 0) plot.setSize({ width: Math.floor(width), height: heightOf(props()) })
  })
  watcher.observe(into)
  let drawn = contentOf(props())
  let isSeen = true
  function update(): void {
    if (!isSeen) return
    const content = contentOf(props())
    if (content === drawn) return
    drawn = content
    draw(plot, props())
  }
  const sight = new IntersectionObserver(
    (changes) => {
      isSeen = changes.at(-1)?.isIntersecting ?? isSeen
      update()
    },
    { rootMargin: '25%' },
  )
  sight.observe(into)
  return {
    update,
    destroy() {
      watcher.disconnect()
      sight.disconnect()
      plot.destroy()
    },
  }
}

/** Equal for what looks the same. */
function contentOf({ axis, series, marks = [] }: ChartProps): string {
  return JSON.stringify([axis.values, series, marks])
}

/** Draws new values, of the stretch that was zoomed to. */
function draw(plot: UPlot, props: ChartProps): void {
  const { min, max } = plot.scales.x ?? {}
  const [axis] = plot.data
  const [first = 0, last = 0] = [axis[0], axis.at(-1)]
  const [low, high] = props.kind === 'stack' ? barRange(plot, first, last) : [first, last]
  // Before the first drawing there are no bounds.
  const isZoomed = min != null && max != null && (min > low || max < high)
  plot.setData(dataOf(props), !isZoomed)
  if (isZoomed) plot.redraw()
}

function heightOf({ height = defaultHeight }: ChartProps): number {
  return height
}

function dataOf({ kind, axis, series }: ChartProps): UPlot.AlignedData {
  const columns = kind === 'stack' ? stackedColumns(axis.values, series) : columnsOf(axis.values, series)
  return columns as unknown as UPlot.AlignedData
}

function optionsOf(
  into: HTMLElement,
  props: () => ChartProps,
  onCursor: (index: number | null) => void,
): UPlot.Options {
  const now = props()
  const { axis, series, range = [null, null], group, write = String } = now
  const isStack = now.kind === 'stack'
  const [stroke, grid] = [resolved('var(--quiet)'), resolved('var(--line)')]
  const look = { stroke, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } }
  const shown = isStack ? [...series].reverse() : series
  return {
    width: Math.max(120, Math.floor(into.getBoundingClientRect().width)),
    height: heightOf(now),
    legend: { show: false },
    padding: [8, 12, 0, 0],
    cursor: {
      drag: { x: true, y: false },
      points: { size: 6 },
      ...(group === undefined ? {} : { sync: { key: group, setSeries: false } }),
    },
    scales: {
      x: { time: false, ...(isStack ? { range: barRange } : {}) },
      y: { range: (_, low, high) => rangeOf(low, high, isStack ? [0, range[1]] : range) },
    },
    axes: [
      {
        ...look,
        size: 30,
        values: (_, at) => at.map((value) => axis.write(value)),
        ...(axis.steps === undefined ? {} : { incrs: [...axis.steps] }),
      },
      { ...look, size: 54, values: (_, at) => at.map((value) => write(value)) },
    ],
    series: [{}, ...shown.flatMap((each) => (isStack ? [barOptions(each)] : lineOptions(each)))],
    bands: isStack ? [] : bandsOf(series),
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, props())],
    },
  }
}

function lineOptions({ colour, low, isDashed, isSparse, isGapless }: Series): UPlot.Series[] {
  const stroke = resolved(colour)
  const spanGaps = isSparse === true || isGapless === true
  const edge: UPlot.Series = { stroke: 'transparent', points: { show: false }, spanGaps }
  return [
    {
      stroke,
      width: 1.6,
      spanGaps,
      // A dashed line is a level beside the measured values: it has no points of its own.
      ...(isDashed === true ? { dash: [5, 4], points: { show: false } } : {}),
      ...(isSparse === true ? { points: { show: true, size: 6, fill: stroke, stroke } } : {}),
    },
    ...(low === undefined ? [] : [edge, edge]),
  ]
}

function barOptions({ colour }: Series): UPlot.Series {
  const fill = resolved(`color-mix(in srgb, ${colour} 72%, var(--sheet))`)
  const paths = UPlot.paths.bars?.({ size: [0.82, 26] })
  return { stroke: fill, fill, width: 0, points: { show: false }, ...(paths === undefined ? {} : { paths }) }
}

/** Between the high and the low column of each series that has an interval. */
function bandsOf(series: readonly Series[]): UPlot.Band[] {
  const bands: UPlot.Band[] = []
  let at = 1
  for (const { low, colour } of series) {
    if (low !== undefined) bands.push({ series: [at + 2, at + 1], fill: translucent(colour, 0.16) })
    at += low === undefined ? 1 : 3
  }
  return bands
}

/** The values with a little room, and the bounds that always show. */
export function rangeOf(
  low: number | null,
  high: number | null,
  [least, most]: readonly [number | null, number | null],
): [number, number] {
  const from = Math.min(low ?? Number.POSITIVE_INFINITY, least ?? Number.POSITIVE_INFINITY)
  const to = Math.max(high ?? Number.NEGATIVE_INFINITY, most ?? Number.NEGATIVE_INFINITY)
  if (!(Number.isFinite(from) && Number.isFinite(to))) return [0, 1]
  const room = from === to ? Math.abs(from) * 0.1 || 0.5 : (to - from) * 0.06
  return [from === least ? from : from - room, to === most ? to : to + room]
}

/** Half a bar more on either side, so that the first and the last one are whole. */
function barRange({ data }: UPlot, low: number, high: number): [number, number] {
  const [columns] = data
  const half =
    columns.length < 2 ? 0.5 : ((columns.at(-1) ?? 0) - (columns[0] ?? 0)) / (columns.length - 1) / 2
  return [low - half, high + half]
}

function drawMarks({ ctx, bbox, valToPos }: UPlot, { marks = [] }: ChartProps): void {
  ctx.save()
  ctx.setLineDash([3, 3])
  for (const { at, colour } of marks) {
    const x = Math.round(valToPos(at, 'x', true)) + 0.5
    // A line is drawn between two pixels: the last place of the axis is half of one beyond its end.
    if (x < bbox.left || x > bbox.left + bbox.width + 1) continue
    ctx.strokeStyle = resolved(colour)
    ctx.fillStyle = ctx.strokeStyle
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.beginPath()
    ctx.moveTo(x - 4, bbox.top)
    ctx.lineTo(x + 4, bbox.top)
    ctx.lineTo(x, bbox.top + 6)
    ctx.fill()
  }
  ctx.restore()
}
