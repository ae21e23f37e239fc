/**
 * Dates and times as MySQL reads them from texts and numbers.
 *
 * Invariants
 * - Anything between two numbers may separate them, if it is punctuation; digits alone have fixed places.
 * - A text that begins with a date or time counts as it, whatever follows.
 */
import { checkedMoment, type Fields, Temporal, timeOfSeconds } from './temporal.ts'

const separator = /[!-/:-@[-`{-~]/

/** The date or moment that a text begins with. */
export function parseMoment(given: string): Temporal | undefined {
  const text = given.trimStart()
  const digits = /^\d*/.exec(text)?.[0].length ?? 0
  if (digits === 0) return undefined
  const after = text[digits]
  const packed = after === undefined || after === '.'
  // A T among packed digits parts date and time: 20200105T101112.
  const packedWithT = after === 'T' && digits >= 6
  return packed || packedWithT ? parsePacked(text, digits, packedWithT) : parseSeparated(text)
}

function parsePacked(text: string, digits: number, withT: boolean): Temporal | undefined {
  const yearDigits = digits === 4 || digits === 8 || digits >= 14 ? 4 : 2
  const numbers = withT ? text.replace('T', '') : text
  const widths = [yearDigits, 2, 2, 2, 2, 2]
  const parts: number[] = []
  let at = 0
  for (const width of widths) {
    const part = /^\d+/.exec(numbers.slice(at, at + width))?.[0]
    if (part === undefined) break
    parts.push(Number(part))
    at += part.length
  }
  if (parts.length < 3) return undefined
  const fraction = parts.length === 6 ? /^\.(\d+)/.exec(numbers.slice(at))?.[1] : undefined
  return built(parts, yearDigits, fraction)
}

function parseSeparated(text: string): Temporal | undefined {
  const parts: number[] = []
  let yearDigits = 0
  let at = 0
  while (parts.length < 6) {
    const digits = /^\d+/.exec(text.slice(at))?.[0]
    if (digits === undefined) break
    if (parts.length === 0) yearDigits = digits.length
    parts.push(Number(digits))
    at += digits.length
    if (parts.length === 6) break
    const isAfterDay = parts.length === 3
    if (isAfterDay && text[at] === 'T') at++
    else
      for (let gap = text[at] ?? ''; ; gap = text[at] ?? '') {
        if (/\s/.test(gap) && gap !== '') {
          if (!isAfterDay) return parts.length < 3 ? undefined : built(parts, yearDigits, undefined)
        } else if (!separator.test(gap)) break
        at++
      }
  }
  if (parts.length < 3) return undefined
  const fraction = parts.length === 6 ? /^\.(\d+)/.exec(text.slice(at))?.[1] : undefined
  return built(parts, yearDigits, fraction)
}

function built(
  parts: readonly number[],
  yearDigits: number,
  fraction: string | undefined,
): Temporal | undefined {
  const [given = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  const isZero = parts.every((part) => part === 0)
  const year = yearDigits <= 2 && !isZero ? given + (given < 70 ? 2000 : 1900) : given
  const micro = microOf(fraction)
  return checkedMoment(parts.length > 3 ? 'datetime' : 'date', {
    ...{ year, month, day, hour, minute, second, micro },
  })
}

export function microOf(fraction = ''): number {
  return Number(fraction.slice(0, 6).padEnd(6, '0'))
}

/** Ranges in which the digits of a number are a date or moment, and what the year's two digits lack there. */
const dateRanges: readonly (readonly [number, number, number])[] = [
  [101, 691_231, 20_000_000],
  [700_101, 991_231, 19_000_000],
  [10_000_101, 99_991_231, 0],
]
const momentRanges: readonly (readonly [number, number, number])[] = [
  [101_000_000, 691_231_235_959, 20_000_000_000_000],
  [700_101_000_000, 991_231_235_959, 19_000_000_000_000],
  [10_000_101_000_000, 99_991_231_235_959, 0],
]

/** The date or moment that a number's digits are: 20200105, 200105, 20200105101112. */
export function momentOfNumber(value: number): Temporal | undefined {
  const whole = Math.trunc(value)
  if (whole === 0) return new Temporal('date', {})
  const within = ([least, most]: readonly [number, number, number]) => whole >= least && whole <= most
  const date = dateRanges.find(within)
  if (date !== undefined) return checkedMoment('date', dateFields(whole + date[2]))
  const moment = momentRanges.find(within)
  if (moment === undefined) return undefined
  const full = whole + moment[2]
  const time = full % 1_000_000
  return checkedMoment('datetime', {
    ...dateFields(Math.floor(full / 1_000_000)),
    hour: Math.floor(time / 10_000),
    minute: Math.floor(time / 100) % 100,
    second: time % 100,
    micro: Math.round((value - whole) * 1_000_000),
  })
}

function dateFields(date: number): Fields {
  return { year: Math.floor(date / 10_000), month: Math.floor(date / 100) % 100, day: date % 100 }
}

const clock = /^(-?)\s*(?:(\d+)\s+)?(\d+)(?::(\d+)(?::(\d+))?)?(?:\.(\d*))?/

/** The moment that a text is where a time may stand. */
export function parseMomentOfTime(given: string): Temporal | undefined {
  const text = given.trim()
  // Digits between colons alone are a time: 10:05:03.000012.
  if (text.length < 12 || /^-|^\d+:\d+:\d+\.?\d*$/.test(text)) return undefined
  const moment = parseMoment(text)
  return moment?.kind === 'datetime' ? moment : undefined
}

/** The time that a text begins with, or the time of the moment that it is. */
export function parseTime(given: string): Temporal | undefined {
  const moment = parseMomentOfTime(given)
  if (moment !== undefined) return moment.as('time')
  const text = given.trim()
  const match = clock.exec(text)
  if (match === null) return undefined
  const [, minus = '', days, first = '', second, third, fraction] = match
  const micro = microOf(fraction)
  const negative = minus === '-'
  if (second === undefined && days === undefined) return packedTime(Number(first), micro, negative)
  const minutes = Number(second ?? 0)
  const seconds = Number(third ?? 0)
  if (minutes > 59 || seconds > 59) return undefined
  const total = (Number(days ?? 0) * 24 + Number(first)) * 3600 + minutes * 60 + seconds
  return timeOfSeconds(negative ? -total : total, negative ? -micro : micro)
}

function packedTime(digits: number, micro: number, negative: boolean): Temporal | undefined {
  if (digits > 8_385_959) {
    const moment = digits >= 10_000_000_000 ? momentOfNumber(digits) : undefined
    return moment?.as('time') ?? timeOfSeconds(negative ? -1e9 : 1e9)
  }
  const [hour, minute, second] = [Math.floor(digits / 10_000), Math.floor(digits / 100) % 100, digits % 100]
  if (minute > 59 || second > 59) return undefined
  const total = hour * 3600 + minute * 60 + second
  return timeOfSeconds(negative ? -total : total, negative ? -micro : micro)
}

export function timeOfNumber(value: number): Temporal | undefined {
  const size = Math.abs(value)
  const whole = Math.trunc(size)
  return packedTime(whole, Math.round((size - whole) * 1_000_000), value < 0)
}
