/**
 * How numbers are written for people: differences, durations, counts, bytes; the same in the command line and the page.
 *
 * Invariants
 * - The same on every machine, whatever its locale.
 * - A number that is not finite reads as `–`.
 */
import type { Interval } from './interval.ts'
import { percent } from './percent.ts'

const none = '–'

/** @example points(-0.4137) // '−41.4' */
export function points(difference: number): string {
  if (!Number.isFinite(difference)) return none
  return `${difference < 0 ? '−' : '+'}${Math.abs(difference * 100).toFixed(1)}`
}

/** An interval of a difference. @example pointsBetween({ low: -0.02, high: 0.1 }) // '−2.0 to +10.0' */
export function pointsBetween({ low, high }: Interval): string {
  return `${points(low)} to ${points(high)}`
}

/** A value of a measure: a share in percent. @example measured(0.5, true) // '50.0 %'; measured(1.8831, false) // '1.883' */
export function measured(value: number, isShare: boolean): string {
  return isShare ? percent(value) : plain(value)
}

/** A difference of a measure: that of a share in points. @example differenceOf(-0.25, false) // '−0.25' */
export function differenceOf(value: number, isShare: boolean): string {
  if (isShare) return points(value)
  return Number.isFinite(value) ? `${value < 0 ? '−' : '+'}${plain(Math.abs(value))}` : none
}

/** The interval of a difference of a measure. */
export function differenceBetween({ low, high }: Interval, isShare: boolean): string {
  return `${differenceOf(low, isShare)} to ${differenceOf(high, isShare)}`
}

/** A difference with its interval. */
export function differenceWords(
  { difference, ...between }: Interval & { readonly difference: number },
  isShare: boolean,
): string {
  return `${differenceOf(difference, isShare)} (${differenceBetween(between, isShare)})`
}

/** A p-value as tests report it. @example probability(0.03217) // '0.0322' */
export function probability(p: number | undefined): string {
  if (p === undefined) return none
  return p < 0.0001 ? '< 0.0001' : p.toFixed(4)
}

/** @example count(1234567) // '1,234,567' */
export function count(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : none
}

/** @example duration(250) // '4 min 10 s' */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return none
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`
  if (minutes > 0) return `${minutes} min ${String(whole % 60).padStart(2, '0')} s`
  return `${whole} s`
}

/** @example bytes(12_345_678) // '12.3 MB' */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return none
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let rest = value
  while (rest >= 1000 && at < units.length - 1) {
    rest /= 1000
    at++
  }
  return `${at === 0 ? rest : rest.toFixed(1)} ${units[at]}`
}

/** A figure without a unit, in four digits or so. @example plain(0.000123) // '1.23e-4' */
export function plain(value: number): string {
  if (!Number.isFinite(value)) return none
  const size = Math.abs(value)
  if (size >= 100_000) return count(value)
  if (size !== 0 && size < 0.001) return value.toExponential(2)
  return String(Number(value.toPrecision(4)))
}
