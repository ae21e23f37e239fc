/**
 * DATE_FORMAT, TIME_FORMAT and STR_TO_DATE.
 *
 * Invariants
 * - A specifier that needs a date gives NULL where there is none.
 * - The bits of a mode mean: weeks begin on Monday, the year may be another one, week 1 has its first weekday.
 */
import {
  checkedMoment,
  dateOfDays,
  dayNumber,
  padded,
  type Temporal,
  type TemporalKind,
  timeOfSeconds,
} from './temporal.ts'
import { microOf } from './temporal-text.ts'

export const monthNames =
  'January February March April May June July August September October November December'.split(' ')

export const dayNames = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')
const mondayFirst = 1
const ownYear = 2
const firstWeekday = 4

const weekModes = {
  U: firstWeekday,
  u: mondayFirst,
  V: ownYear | firstWeekday,
  v: ownYear | mondayFirst,
} as const

interface Week {
  readonly week: number
  readonly year: number
}

function ordinal(day: number): string {
  const ending = day >= 10 && day <= 19 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th')
  return `${day}${ending}`
}

function half({ hour }: Temporal): string {
  return hour % 24 < 12 ? 'AM' : 'PM'
}

function twelve({ hour }: Temporal): number {
  return (((hour % 24) + 11) % 12) + 1
}

function name(names: readonly string[], at: number): string | undefined {
  return names[at]
}

function dayName(moment: Temporal): string | undefined {
  return moment.year === 0 && moment.month === 0 ? undefined : name(dayNames, weekdayOf(moment.days))
}

const dateSpecifiers: Readonly<Record<string, (moment: Temporal) => string | undefined>> = {
  Y: ({ year }) => padded(year, 4),
  y: ({ year }) => padded(year % 100, 2),
  m: ({ month }) => padded(month, 2),
  c: ({ month }) => String(month),
  M: ({ month }) => name(monthNames, month - 1),
  b: ({ month }) => name(monthNames, month - 1)?.slice(0, 3),
  d: ({ day }) => padded(day, 2),
  e: ({ day }) => String(day),
  D: ({ day }) => ordinal(day),
  W: (moment) => dayName(moment),
  a: (moment) => dayName(moment)?.slice(0, 3),
  w: (moment) => (moment.year === 0 && moment.month === 0 ? undefined : String(weekdayOf(moment.days, true))),
  j: (moment) => padded(moment.days - dayNumber(moment.year, 1, 1) + 1, 3),
  U: (moment) => padded(weekOf(moment, weekModes.U).week, 2),
  u: (moment) => padded(weekOf(moment, weekModes.u).week, 2),
  V: (moment) => padded(weekOf(moment, weekModes.V).week, 2),
  v: (moment) => padded(weekOf(moment, weekModes.v).week, 2),
  X: (moment) => padded(weekOf(moment, weekModes.V).year, 4),
  x: (moment) => padded(weekOf(moment, weekModes.v).year, 4),
}

const timeSpecifiers: Readonly<Record<string, (moment: Temporal) => string>> = {
  H: ({ hour }) => padded(hour, 2),
  k: ({ hour }) => String(hour),
  h: (moment) => padded(twelve(moment), 2),
  I: (moment) => padded(twelve(moment), 2),
  l: (moment) => String(twelve(moment)),
  i: ({ minute }) => padded(minute, 2),
  s: ({ second }) => padded(second, 2),
  S: ({ second }) => padded(second, 2),
  f: ({ micro }) => padded(micro, 6),
  p: half,
  r: (moment) =>
    `${padded(twelve(moment), 2)}:${padded(moment.minute, 2)}:${padded(moment.second, 2)} ${half(moment)}`,
  T: ({ hour, minute, second }) => `${padded(hour, 2)}:${padded(minute, 2)}:${padded(second, 2)}`,
}

/** NULL where the format is empty or asks for what the moment lacks. */
export function formatted(moment: Temporal, format: string): string | null {
  if (format === '') return null
  let missing = false
  const text = format.replaceAll(/%(.)/gsu, (_, letter: string) => {
    const isTimeOnly = moment.kind === 'time' && Object.hasOwn(dateSpecifiers, letter)
    if (isTimeOnly && /[MbWawDejUuVvXx]/.test(letter)) missing = true
    const specifier = dateSpecifiers[letter] ?? timeSpecifiers[letter]
    if (specifier === undefined) return letter
    const shown = specifier(moment)
    missing ||= shown === undefined
    return shown ?? ''
  })
  if (missing) return null
  return moment.negative ? `-${text}` : text
}

/** The kind that a format of STR_TO_DATE describes, and whether it has a fraction. */
export function kindOfFormat(format: string): { readonly kind: TemporalKind; readonly scale: number } {
  const letters = [...format.matchAll(/%(.)/gs)].map(([, letter = '']) => letter)
  const timed = letters.some((letter) => /[fHSTIhiklrsp]/.test(letter))
  const dated = letters.some((letter) => /[MVUXYWabcjmvuxywdeD]/.test(letter))
  return { kind: timed ? (dated ? 'datetime' : 'time') : 'date', scale: letters.includes('f') ? 6 : 0 }
}

interface Parts {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  micro: number
  half: number | undefined
  usesHalf: boolean
  dayOfYear: number | undefined
}

type Reader = (text: string, parts: Parts) => number | undefined

/** Reads so many digits at most. @returns how many letters it read */
function digitsInto(most: number, put: (parts: Parts, value: number, length: number) => void): Reader {
  return (text, parts) => {
    const digits = new RegExp(`^\\d{1,${most}}`).exec(text)?.[0]
    if (digits === undefined) return undefined
    put(parts, Number(digits), digits.length)
    return digits.length
  }
}

function nameInto(names: readonly string[], short: boolean, put: (parts: Parts, at: number) => void): Reader {
  return (text, parts) => {
    const word = /^[A-Za-z]+/.exec(text)?.[0].toLowerCase() ?? ''
    const at = names.findIndex((name) => {
      const wanted = (short ? name.slice(0, 3) : name).toLowerCase()
      return short ? word.slice(0, 3) === wanted : word === wanted
    })
    if (at < 0) return undefined
    put(parts, at)
    return short ? 3 : (names[at]?.length ?? 0)
  }
}

function fullYear(value: number, length: number): number {
  return length <= 2 ? value + (value < 70 ? 2000 : 1900) : value
}

const hour24 = digitsInto(2, (parts, value) => {
  parts.hour = value
})

const hour12 = digitsInto(2, (parts, value) => {
  parts.hour = value
  parts.usesHalf = true
})

const dayOfMonth = digitsInto(2, (parts, value) => {
  parts.day = value
})

const monthNumber = digitsInto(2, (parts, value) => {
  parts.month = value
})

const seconds = digitsInto(2, (parts, value) => {
  parts.second = value
})

function skipping(pattern: RegExp): Reader {
  return (text) => pattern.exec(text)?.[0].length ?? 0
}

const readers: Readonly<Record<string, Reader>> = {
  Y: digitsInto(4, (parts, value, length) => {
    parts.year = fullYear(value, length)
  }),
  y: digitsInto(2, (parts, value, length) => {
    parts.year = fullYear(value, length)
  }),
  ...{ m: monthNumber, c: monthNumber, d: dayOfMonth, e: dayOfMonth },
  ...{ H: hour24, k: hour24, h: hour12, I: hour12, l: hour12, s: seconds, S: seconds },
  D: (text, parts) => {
    const read = dayOfMonth(text, parts)
    return read === undefined ? undefined : Math.min(text.length, read + 2)
  },
  M: nameInto(monthNames, false, (parts, at) => {
    parts.month = at + 1
  }),
  b: nameInto(monthNames, true, (parts, at) => {
    parts.month = at + 1
  }),
  W: nameInto(dayNames, false, () => {}),
  a: nameInto(dayNames, true, () => {}),
  w: digitsInto(1, () => {}),
  i: digitsInto(2, (parts, value) => {
    parts.minute = value
  }),
  f: (text, parts) => {
    const digits = /^\d{1,6}/.exec(text)?.[0]
    parts.micro = microOf(digits)
    return digits?.length
  },
  j: digitsInto(3, (parts, value) => {
    parts.dayOfYear = value
  }),
  p: (text, parts) => {
    const word = text.slice(0, 2).toUpperCase()
    if (word !== 'AM' && word !== 'PM') return undefined
    parts.half = word === 'PM' ? 12 : 0
    return 2
  },
  '.': skipping(/^[!-/:-@[-`{-~]+/),
  '@': skipping(/^[A-Za-z]+/),
  '#': skipping(/^\d+/),
  '%': skipping(/^%/),
}

/** The date or time that a text in a format is; undefined where it is not in that format. */
export function parsedBy(given: string, format: string): Temporal | undefined {
  const parts: Parts = {
    ...{ year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, micro: 0 },
    ...{ half: undefined, usesHalf: false, dayOfYear: undefined },
  }
  if (!read(given, format.replaceAll('%r', '%I:%i:%S %p').replaceAll('%T', '%H:%i:%S'), parts))
    return undefined
  if (parts.usesHalf) {
    if (parts.hour > 12 || parts.hour < 1) return undefined
    parts.hour = (parts.hour % 12) + (parts.half ?? 0)
  } else if (parts.half !== undefined) return undefined
  return builtFrom(parts, kindOfFormat(format).kind)
}

function read(given: string, format: string, parts: Parts): boolean {
  let text = given
  for (let at = 0; at < format.length; at++) {
    text = text.trimStart()
    if (text === '') return true
    const letter = format[at] ?? ''
    if (letter === '%' && at + 1 < format.length) {
      const length = readers[format[++at] ?? '']?.(text, parts)
      if (length === undefined) return false
      text = text.slice(length)
    } else if (!/\s/.test(letter)) {
      if (text[0] !== letter) return false
      text = text.slice(1)
    }
  }
  return true
}

function builtFrom(parts: Parts, kind: TemporalKind): Temporal | undefined {
  const { year, month, day, hour, minute, second, micro, dayOfYear } = parts
  if (kind === 'time') {
    if (minute > 59 || second > 59) return undefined
    return timeOfSeconds(hour * 3600 + minute * 60 + second, micro)
  }
  const date = dayOfYear === undefined ? undefined : dateOfDays(dayNumber(year, 1, 1) + dayOfYear - 1)
  const fields =
    date === undefined ? { year, month, day } : { year: date.year, month: date.month, day: date.day }
  return checkedMoment(kind, { ...fields, hour, minute, second, micro })
}

/** The bits of the mode that WEEK() is given. */
export function weekMode(given: number): number {
  const mode = given & 7
  return mode & mondayFirst ? mode : mode ^ firstWeekday
}

/** 0 is Monday, or Sunday where weeks begin on it. */
export function weekdayOf(days: number, sundayFirst = false): number {
  return (days + 5 + (sundayFirst ? 1 : 0)) % 7
}

function daysInYear(year: number): number {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 366 : 365
}

export function weekOf({ year: given, month, day, days: number }: Temporal, mode: number): Week {
  let year = given
  let first = dayNumber(year, 1, 1)
  let isOwnYear = (mode & ownYear) !== 0
  let weekday = weekdayOf(first, (mode & mondayFirst) === 0)
  const begins = () => ((mode & firstWeekday) !== 0 ? weekday === 0 : weekday < 4)
  if (month === 1 && day <= 7 - weekday) {
    if (!isOwnYear && !begins()) return { week: 0, year }
    if (!begins()) {
      isOwnYear = true
      year--
      const days = daysInYear(year)
      first -= days
      weekday = (weekday + 53 * 7 - days) % 7
    }
  }
  const days = begins() ? number - (first - weekday) : number - (first + 7 - weekday)
  if (isOwnYear && days >= 52 * 7) {
    weekday = (weekday + daysInYear(year)) % 7
    if (begins()) return { week: 1, year: year + 1 }
  }
  return { week: Math.floor(days / 7) + 1, year }
}
