/**
 * Learning curves as a picture: a measure over versions, a line for each arm, with the interval over its seeds.
 *
 * Invariants
 * - [CURVE-1] The same curves give the same bytes, and what comes out is one well-formed SVG whatever the arms are called.
 * - Lines are distinguished by colour and by dashes, and named in words; the colours are those of M. Okabe and K. Ito, which
 *   people with any colour vision distinguish.
 */
import { plain } from '../../learning/statistics/figures.ts'
import { percent } from '../../learning/statistics/percent.ts'
import type { CurvePoint, ReportedCurve } from './experiment-report.ts'

const width = 720
const height = 400
const plot = { left: 56, right: 180, top: 40, bottom: 48 }
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#999999']
const dashes = ['', '6 3', '2 3', '8 3 2 3']
/** Labels are at least so far apart. */
const lineHeight = 15

/** Places on the picture. */
interface Scale {
  readonly x: (version: number) => number
  readonly y: (value: number) => number
  readonly versions: readonly number[]
  readonly values: readonly number[]
}

/**
 * @param curves those of one suite, in the order of arms
 * @param title what is shown, in words
 * @throws RangeError no curve
 */
export function learningCurve(curves: readonly ReportedCurve[], title: string, isShare = true): string {
  const points = curves.flatMap((curve) => curve.points)
  if (points.length === 0) throw new RangeError('no point to draw, expected at least one')
  const scale = scaleOf(points)
  const last = curves.map(({ points: own }) => scale.y(own.at(-1)?.mean ?? 0))
  const labels = spread(last)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(curves.map(curveWords).join('; '))}</desc>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="${plot.left}" y="22" font-size="14" font-weight="600">${escaped(title)}</text>`,
    ...axes(scale, isShare),
    ...curves.flatMap(({ points: own }, at) => curve(own, at, scale)),
    ...curves.map(({ arm }, at) => label(arm, at, labels[at] ?? 0)),
    '</svg>',
    '',
  ].join('\n')
}

function scaleOf(points: readonly CurvePoint[]): Scale {
  const lowest = Math.min(...points.map(({ version }) => version))
  const highest = Math.max(...points.map(({ version }) => version))
  const least = Math.min(...points.map(({ mean, low = mean }) => low))
  const most = Math.max(...points.map(({ mean, high = mean }) => high))
  const values = ticks(least, most, 5)
  const [bottom = 0, top = 1] = [values[0], values.at(-1)]
  const right = width - plot.right
  return {
    x: (version) => plot.left + ((version - lowest) / Math.max(1, highest - lowest)) * (right - plot.left),
    y: (value) =>
      height -
      plot.bottom -
      ((value - bottom) / Math.max(1e-9, top - bottom)) * (height - plot.bottom - plot.top),
    versions: ticks(lowest, highest, 6).filter((tick) => tick >= lowest && tick <= highest && tick % 1 === 0),
    values,
  }
}

/** Round numbers around what is shown, about so many. @example ticks(0.12, 0.48, 4) // [0.1, 0.2, 0.3, 0.4, 0.5] */
export function ticks(least: number, most: number, about: number): readonly number[] {
  const span = Math.max(most - least, 1e-3)
  const power = 10 ** Math.floor(Math.log10(span / about))
  const step = power * ([1, 2, 5, 10].find((each) => span / (each * power) <= about) ?? 10)
  const first = Math.floor(least / step + 1e-9)
  const last = Math.max(first + 1, Math.ceil(most / step - 1e-9))
  // A product of a decimal step is not that decimal.
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

function axes({ x, y, versions, values }: Scale, isShare: boolean): readonly string[] {
  const [left, right, bottom] = [plot.left, width - plot.right, height - plot.bottom]
  return [
    ...values.map(
      (tick) =>
        `<path d="M${left} ${at(y(tick))}H${right}" stroke="#dddddd"/><text x="${left - 8}" y="${at(y(tick) + 4)}" text-anchor="end">${isShare ? percent(tick, 0) : plain(tick)}</text>`,
    ),
    ...versions.map(
      (tick) =>
        `<path d="M${at(x(tick))} ${bottom}v5" stroke="#666666"/><text x="${at(x(tick))}" y="${bottom + 19}" text-anchor="middle">${tick}</text>`,
    ),
    `<path d="M${left} ${bottom}H${right}" stroke="#666666"/>`,
    `<text x="${at((left + right) / 2)}" y="${height - 10}" text-anchor="middle">version</text>`,
  ]
}

/** A band for the interval, a line for the mean. */
function curve(points: readonly CurvePoint[], index: number, { x, y }: Scale): readonly string[] {
  const colour = colourOf(index)
  const upper = points.map(({ version, mean, high = mean }) => `${at(x(version))} ${at(y(high))}`)
  const lower = points.map(({ version, mean, low = mean }) => `${at(x(version))} ${at(y(low))}`).reverse()
  const line = points.map(({ version, mean }) => `${at(x(version))} ${at(y(mean))}`)
  const marks = points.map(
    ({ version, mean }) => `<circle cx="${at(x(version))}" cy="${at(y(mean))}" r="2.5" fill="${colour}"/>`,
  )
  return [
    `<path d="M${[...upper, ...lower].join('L')}Z" fill="${colour}" fill-opacity="0.14"/>`,
    `<path d="M${line.join('L')}" fill="none" stroke="${colour}" stroke-width="2"${dashOf(index)}/>`,
    ...marks,
  ]
}

function label(arm: string, index: number, y: number): string {
  const x = width - plot.right + 8
  return `<path d="M${x} ${at(y)}h18" stroke="${colourOf(index)}" stroke-width="2"${dashOf(index)}/><text x="${x + 24}" y="${at(y + 4)}">${escaped(arm)}</text>`
}

/** The heights, each moved as little as possible so that labels do not overlap. */
function spread(heights: readonly number[]): readonly number[] {
  const order = heights.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y)
  const placed = [...heights]
  let free = plot.top
  for (const { y, index } of order) {
    const placedAt = Math.max(free, y)
    placed[index] = placedAt
    free = placedAt + lineHeight
  }
  const beyond = Math.max(0, free - lineHeight - (height - plot.bottom))
  return placed.map((y) => y - beyond)
}

function curveWords({ arm, points }: ReportedCurve): string {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return arm
  return `${arm}: ${percent(first.mean)} at version ${first.version}, ${percent(last.mean)} at version ${last.version}`
}

function colourOf(index: number): string {
  return colours[index % colours.length] ?? '#000000'
}

function dashOf(index: number): string {
  const dash = dashes[Math.floor(index / colours.length) % dashes.length] ?? ''
  return dash === '' ? '' : ` stroke-dasharray="${dash}"`
}

/** A length with two digits. */
function at(value: number): string {
  return String(Number(value.toFixed(2)))
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
