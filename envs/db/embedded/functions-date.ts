/**
 * MySQL's functions of dates, over texts.
 *
 * Invariants
 * - A text that is no date gives NULL.
 * - The clock is stopped: the same statement gives the same result whenever it is played.
 */
import { toNumber, toText, type Value } from './value.ts'

type Present = Exclude<Value, null>

/** What NOW() says. */
const now = Date.UTC(2024, 0, 1)
const dayMs = 86_400_000

const monthNames =
  'January February March April May June July August September October November December'.split(' ')
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

interface Moment {
  readonly ms: number
  /** True where a time was given. */
  readonly timed: boolean
}

const momentPattern =
  /^\s*(\d{4}|\d{2})[-/.](\d{1,2})[-/.](\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?)?\s*$/
const packedPattern = /^\s*(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2}))?\s*$/

function momentOf(value: Present): Moment | undefined {
  const text = toText(value)
  const match = momentPattern.exec(text) ?? packedPattern.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1)
    .map((digits) => Number(digits ?? 0))
  return moment(
    match[1]?.length === 2 ? year + (year < 70 ? 2000 : 1900) : year,
    month,
    day,
    [hours, minutes, seconds],
    match[4] !== undefined,
  )
}

function moment(
  year: number,
  month: number,
  day: number,
  time: readonly number[],
  timed: boolean,
): Moment | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = time
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  if (month < 1 || month > 12 || day < 1 || day > lastDay || hours > 23 || minutes > 59 || seconds > 59)
    return undefined
  return { ms: Date.UTC(year, month - 1, day, hours, minutes, seconds), timed }
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

function dateText(ms: number): string {
  const date = new Date(ms)
  return `${String(date.getUTCFullYear()).padStart(4, '0')}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
}

function timeText(ms: number): string {
  const date = new Date(ms)
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
}

function momentText({ ms, timed }: Moment): string {
  return timed ? `${dateText(ms)} ${timeText(ms)}` : dateText(ms)
}

function field(read: (date: Date) => number | string): (value: Present) => Value {
  return (value) => {
    const moment = momentOf(value)
    if (moment === undefined) return null
    const result = read(new Date(moment.ms))
    return typeof result === 'number' ? BigInt(result) : result
  }
}

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs) + 1
}

function ordinal(day: number): string {
  const ending = day % 100 >= 11 && day % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th')
  return `${day}${ending}`
}

const specifiers: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getUTCFullYear()),
  y: (date) => two(date.getUTCFullYear() % 100),
  m: (date) => two(date.getUTCMonth() + 1),
  c: (date) => String(date.getUTCMonth() + 1),
  M: (date) => monthNames[date.getUTCMonth()] ?? '',
  b: (date) => (monthNames[date.getUTCMonth()] ?? '').slice(0, 3),
  d: (date) => two(date.getUTCDate()),
  e: (date) => String(date.getUTCDate()),
  D: (date) => ordinal(date.getUTCDate()),
  W: (date) => dayNames[date.getUTCDay()] ?? '',
  a: (date) => (dayNames[date.getUTCDay()] ?? '').slice(0, 3),
  w: (date) => String(date.getUTCDay()),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  H: (date) => two(date.getUTCHours()),
  k: (date) => String(date.getUTCHours()),
  h: (date) => two(date.getUTCHours() % 12 || 12),
  l: (date) => String(date.getUTCHours() % 12 || 12),
  i: (date) => two(date.getUTCMinutes()),
  s: (date) => two(date.getUTCSeconds()),
  S: (date) => two(date.getUTCSeconds()),
  p: (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM'),
  T: (date) => timeText(date.getTime()),
}

function formatted(value: Present, format: Present): Value {
  const moment = momentOf(value)
  if (moment === undefined) return null
  const date = new Date(moment.ms)
  return toText(format).replaceAll(/%(.)/gs, (_, letter: string) => specifiers[letter]?.(date) ?? letter)
}

const readers: Readonly<Record<string, string>> = {
  Y: '(?<Y>\\d{4})',
  y: '(?<y>\\d{2})',
  m: '(?<m>\\d{1,2})',
  c: '(?<m>\\d{1,2})',
  M: '(?<M>[a-z]+)',
  b: '(?<M>[a-z]{3})',
  d: '(?<d>\\d{1,2})',
  e: '(?<d>\\d{1,2})',
  D: '(?<d>\\d{1,2})[a-z]{2}',
  W: '[a-z]+',
  a: '[a-z]{3}',
  H: '(?<H>\\d{1,2})',
  k: '(?<H>\\d{1,2})',
  h: '(?<H>\\d{1,2})',
  l: '(?<H>\\d{1,2})',
  i: '(?<i>\\d{1,2})',
  s: '(?<s>\\d{1,2})',
  S: '(?<s>\\d{1,2})',
  p: '(?<p>am|pm)',
}

function parsed(value: Present, format: Present): Value {
  const source = toText(format)
    .trim()
    .replaceAll(/%(.)|\s+|[^\s%]/gs, (all, letter: string | undefined) => {
      if (letter !== undefined) return readers[letter] ?? '.'
      return all.trim() === '' ? '\\s*' : `\\s*${all.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`
    })
  let groups: Readonly<Record<string, string | undefined>> | undefined
  try {
    groups = new RegExp(`^\\s*${source}`, 'i').exec(toText(value))?.groups
  } catch {
    return null
  }
  if (groups === undefined) return null
  const shortYear = Number(groups.y)
  const year = groups.Y === undefined ? shortYear + (shortYear < 70 ? 2000 : 1900) : Number(groups.Y)
  const name = groups.M?.toLowerCase()
  const month = name === undefined ? Number(groups.m ?? 0) : monthNumber(name)
  const half = groups.p?.toLowerCase()
  const hours = Number(groups.H ?? 0)
  const hour = half === undefined ? hours : (hours % 12) + (half === 'pm' ? 12 : 0)
  const timed = groups.H !== undefined
  const at = moment(
    year,
    month,
    Number(groups.d ?? 0),
    [hour, Number(groups.i ?? 0), Number(groups.s ?? 0)],
    timed,
  )
  return at === undefined ? null : momentText(at)
}

function monthNumber(name: string): number {
  return (
    monthNames.findIndex(
      (month) => month.toLowerCase() === name || month.slice(0, 3).toLowerCase() === name,
    ) + 1
  )
}

const unitMs: Readonly<Record<string, number>> = {
  SECOND: 1000,
  MINUTE: 60_000,
  HOUR: 3_600_000,
  DAY: dayMs,
  WEEK: 7 * dayMs,
}
const unitMonths: Readonly<Record<string, number>> = { MONTH: 1, QUARTER: 3, YEAR: 12 }

function plusMonths(ms: number, months: number): number {
  const date = new Date(ms)
  const month = date.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate()
  return Date.UTC(
    date.getUTCFullYear(),
    month,
    Math.min(date.getUTCDate(), lastDay),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
  )
}

/** A moment and so many units; the translated DATE_ADD and `+ INTERVAL`. */
function added(value: Present, count: Present, unit: Present): Value {
  const from = momentOf(value)
  if (from === undefined) return null
  const amount = Math.trunc(toNumber(count))
  const name = toText(unit).toUpperCase()
  const length = unitMs[name]
  const ms =
    length === undefined ? plusMonths(from.ms, amount * (unitMonths[name] ?? 0)) : from.ms + amount * length
  if (!Number.isFinite(ms) || Math.abs(ms) > 8e15) return null
  return momentText({ ms, timed: from.timed || (length !== undefined && length < dayMs) })
}

function between(unit: Present, left: Present, right: Present): Value {
  const from = momentOf(left)
  const to = momentOf(right)
  if (from === undefined || to === undefined) return null
  const name = toText(unit).toUpperCase()
  const length = unitMs[name]
  if (length !== undefined) return BigInt(Math.trunc((to.ms - from.ms) / length))
  const [early, late] = from.ms <= to.ms ? [from.ms, to.ms] : [to.ms, from.ms]
  const a = new Date(early)
  const b = new Date(late)
  let months = (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth()
  if (plusMonths(early, months) > late) months--
  const count = BigInt(Math.trunc(months / (unitMonths[name] ?? 1)))
  return from.ms <= to.ms ? count : -count
}

function days(left: Present, right: Present): Value {
  const from = momentOf(left)
  const to = momentOf(right)
  if (from === undefined || to === undefined) return null
  return BigInt(Math.floor(from.ms / dayMs) - Math.floor(to.ms / dayMs))
}

/** Functions that are NULL where an argument is. */
export const plainDateFunctions: Readonly<Record<string, (...args: Present[]) => Value>> = {
  now: () => `${dateText(now)} ${timeText(now)}`,
  curdate: () => dateText(now),
  curtime: () => timeText(now),
  year: field((date) => date.getUTCFullYear()),
  quarter: field((date) => Math.floor(date.getUTCMonth() / 3) + 1),
  month: field((date) => date.getUTCMonth() + 1),
  day: field((date) => date.getUTCDate()),
  hour: field((date) => date.getUTCHours()),
  minute: field((date) => date.getUTCMinutes()),
  second: field((date) => date.getUTCSeconds()),
  dayofyear: field(dayOfYear),
  dayofweek: field((date) => date.getUTCDay() + 1),
  weekday: field((date) => (date.getUTCDay() + 6) % 7),
  dayname: field((date) => dayNames[date.getUTCDay()] ?? ''),
  monthname: field((date) => monthNames[date.getUTCMonth()] ?? ''),
  date: field((date) => dateText(date.getTime())),
  last_day: field((date) => dateText(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0))),
  date_format: (value, format) => formatted(value, format ?? ''),
  str_to_date: (value, format) => parsed(value, format ?? ''),
  datediff: (left, right) => days(left, right ?? ''),
  add_interval: added,
  timestampdiff: between,
}

export const dateAliases: Readonly<Record<string, string>> = {
  dayofmonth: 'day',
  current_date: 'curdate',
  current_time: 'curtime',
  current_timestamp: 'now',
  localtime: 'now',
  localtimestamp: 'now',
  sysdate: 'now',
}
