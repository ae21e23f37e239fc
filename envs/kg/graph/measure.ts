/**
 * Which texts are numbers or dates, and their order.
 *
 * - A number has an optional sign, digits with or without a point, and an optional exponent: `7`, `-0.5`, `1e6`.
 * - A date is `YYYY-MM`, `YYYY-MM-DD` or `YYYY-MM-DDThh:mm[:ss]`, each with or without `Z` or `±hh:mm`; years
 *   before our era have a minus sign. A missing part counts as its first value, a missing offset as UTC.
 *
 * Invariants
 * - A text has a measure or none, and never throws; days that no calendar has are no dates.
 * - Where dates are compared, a whole number of up to four digits is the beginning of that year, and other
 *   numbers do not count.
 */

/** A text read as a quantity. `value` is the number, or milliseconds since 1970. */
export interface Measure {
  readonly kind: 'number' | 'date'
  readonly value: number
}

const numberPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const datePattern =
  /^(-?\d{4,6})-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?)?)?(Z|[+-]\d\d:\d\d)?$/
// Longer texts are neither: their digits would be lost anyway.
const longest = 64
const longestOffsetMs = 14 * 60 * 60_000

/** Reads a text. */
export function measureOf(text: string): Measure | undefined {
  if (text.length > longest) return undefined
  if (numberPattern.test(text)) {
    const value = Number(text)
    return Number.isFinite(value) ? { kind: 'number', value } : undefined
  }
  const match = datePattern.exec(text)
  if (match === null) return undefined
  const [, year, month, day = '01', hour = '00', minute = '00', second = '00', fraction = '', offset] = match
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const real = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  if (!real || Number(minute) > 59 || Number(second) > 60) return undefined
  const isEndOfDay = Number(hour) === 24 && Number(minute) === 0 && Number(second + fraction) === 0
  if (Number(hour) > 23 && !isEndOfDay) return undefined
  if (Math.abs(offsetMs(offset)) > longestOffsetMs) return undefined
  const time = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second + fraction)) * 1000
  return { kind: 'date', value: date.getTime() + time - offsetMs(offset) }
}

function offsetMs(offset: string | undefined): number {
  if (offset === undefined || offset === 'Z') return 0
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))
  return (offset.startsWith('-') ? -1 : 1) * minutes * 60_000
}

/** One who has a value of an attribute. */
export interface Measured {
  readonly member: string
  readonly measure: Measure
}

/** The members with the greatest or the least value; all of them where several share it. */
export function extremes(measured: readonly Measured[], which: 'argmax' | 'argmin'): Set<string> {
  const dated = measured.some(({ measure }) => measure.kind === 'date')
  const sign = which === 'argmax' ? 1 : -1
  let best = Number.NEGATIVE_INFINITY
  let winners = new Set<string>()
  for (const { member, measure } of measured) {
    const value = dated ? instantOf(measure) : measure.value
    if (value === undefined) continue
    if (sign * value > best) {
      best = sign * value
      winners = new Set()
    }
    if (sign * value === best) winners.add(member)
  }
  return winners
}

function instantOf({ kind, value }: Measure): number | undefined {
  if (kind === 'date') return value
  if (!Number.isInteger(value) || Math.abs(value) > 9999) return undefined
  return new Date(0).setUTCFullYear(value, 0, 1)
}
