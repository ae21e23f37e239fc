/**
 * MySQL's dates, times and moments.
 *
 * Invariants
 * - A month or a day may be 0, as MySQL allows outside of its strict mode; a day that the month lacks is no date.
 * - A time is between −838:59:59 and 838:59:59.
 */

export type TemporalKind = 'date' | 'datetime' | 'time'

export interface Fields {
  readonly year?: number
  readonly month?: number
  readonly day?: number
  readonly hour?: number
  readonly minute?: number
  readonly second?: number
  readonly micro?: number
  readonly negative?: boolean
}

export const secondsOfDay = 86_400
const mostTimeSeconds = 838 * 3600 + 59 * 60 + 59
const lastYear = 9999

export class Temporal {
  readonly kind: TemporalKind
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly micro: number
  readonly negative: boolean

  constructor(kind: TemporalKind, fields: Fields) {
    this.kind = kind
    this.year = fields.year ?? 0
    this.month = fields.month ?? 0
    this.day = fields.day ?? 0
    this.hour = fields.hour ?? 0
    this.minute = fields.minute ?? 0
    this.second = fields.second ?? 0
    this.micro = fields.micro ?? 0
    this.negative = fields.negative ?? false
  }

  /** @param scale decimal places of the seconds */
  toText(scale = this.micro === 0 ? 0 : 6): string {
    const date = `${padded(this.year, 4)}-${padded(this.month, 2)}-${padded(this.day, 2)}`
    if (this.kind === 'date') return date
    const fraction = scale === 0 ? '' : `.${padded(this.micro, 6).slice(0, scale)}`
    const time = `${padded(this.hour, 2)}:${padded(this.minute, 2)}:${padded(this.second, 2)}${fraction}`
    return this.kind === 'time' ? `${this.negative ? '-' : ''}${time}` : `${date} ${time}`
  }

  /** Digits without separators, as MySQL computes with them: 20200105, 101112. */
  toWhole(): number {
    const time = (this.hour * 100 + this.minute) * 100 + this.second
    if (this.kind === 'time') return this.negative ? -time : time
    const date = (this.year * 100 + this.month) * 100 + this.day
    return this.kind === 'date' ? date : date * 1_000_000 + time
  }

  /** Whether year, month and day say which day it is. */
  get isWholeDate(): boolean {
    return this.month > 0 && this.day > 0
  }

  get isZero(): boolean {
    return this.year === 0 && this.month === 0 && this.day === 0
  }

  get days(): number {
    return dayNumber(this.year, this.month, this.day)
  }

  /** Seconds of the day or of the time, without the fraction; negative for a negative time. */
  get seconds(): number {
    const seconds = this.hour * 3600 + this.minute * 60 + this.second
    return this.negative ? -seconds : seconds
  }

  /** For comparing what is of one kind: the greater is later. */
  compare(other: Temporal): number {
    const [left, right] = [this.#ordinal(), other.#ordinal()]
    return left < right ? -1 : left > right ? 1 : 0
  }

  #ordinal(): bigint {
    const date = BigInt((this.year * 13 + this.month) * 32 + this.day)
    const time = BigInt(this.seconds) * 1_000_000n + BigInt(this.negative ? -this.micro : this.micro)
    return this.kind === 'time' ? time : date * 86_400_000_000n + time
  }

  as(kind: TemporalKind): Temporal {
    if (kind === this.kind) return this
    if (kind === 'date') return new Temporal('date', { year: this.year, month: this.month, day: this.day })
    const { hour, minute, second, micro } = this
    if (kind === 'time') return new Temporal('time', { hour, minute, second, micro })
    return new Temporal('datetime', this)
  }

  /** With a fraction of so many places, the rest rounded. */
  rounded(scale: number): Temporal {
    const step = 10 ** (6 - scale)
    const micro = Math.round(this.micro / step) * step
    if (micro === this.micro) return this
    if (this.kind === 'time')
      return timeOfSeconds(this.seconds * (this.negative ? 1 : 1), this.negative ? -micro : micro)
    return momentOf(this.days, this.seconds, micro, 'datetime') ?? this
  }
}

export function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}

/** Days from year 0, as TO_DAYS counts them. */
export function dayNumber(year: number, month: number, day: number): number {
  if (year === 0 && month === 0) return 0
  let days = 365 * year + 31 * (month - 1) + day
  let leapYear = year
  if (month <= 2) leapYear--
  else days -= Math.trunc((month * 4 + 23) / 10)
  return days + Math.floor(leapYear / 4) - Math.trunc((Math.trunc(leapYear / 100 + 1) * 3) / 4)
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The date of a day number; undefined outside of MySQL's years. */
export function dateOfDays(days: number): Temporal | undefined {
  if (days < 366 || days > dayNumber(lastYear, 12, 31)) return undefined
  let year = Math.floor((days * 100) / 36_525)
  while (dayNumber(year + 1, 1, 1) <= days) year++
  while (dayNumber(year, 1, 1) > days) year--
  let month = 1
  while (month < 12 && dayNumber(year, month + 1, 1) <= days) month++
  return new Temporal('date', { year, month, day: days - dayNumber(year, month, 1) + 1 })
}

/** A day and so many seconds and microseconds, each of which may be beyond its range. */
export function momentOf(
  days: number,
  seconds: number,
  micros: number,
  kind: 'date' | 'datetime',
): Temporal | undefined {
  const wholeSeconds = seconds + Math.floor(micros / 1_000_000)
  const date = dateOfDays(days + Math.floor(wholeSeconds / secondsOfDay))
  if (date === undefined || kind === 'date') return date
  const { year, month, day } = date
  const rest = wholeSeconds - Math.floor(wholeSeconds / secondsOfDay) * secondsOfDay
  return new Temporal('datetime', {
    ...{ year, month, day },
    ...clockOf(rest),
    micro: micros - Math.floor(micros / 1_000_000) * 1_000_000,
  })
}

function clockOf(seconds: number): Fields {
  const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return { hour, minute, second: seconds % 60 }
}

/** A time of so many seconds, kept to MySQL's range. */
export function timeOfSeconds(seconds: number, micros = 0): Temporal {
  const negative = seconds < 0 || (seconds === 0 && micros < 0)
  const carried = Math.floor(Math.abs(micros) / 1_000_000)
  const size = Math.abs(seconds) + carried
  if (size > mostTimeSeconds) return new Temporal('time', { hour: 838, minute: 59, second: 59, negative })
  return new Temporal('time', { ...clockOf(size), micro: Math.abs(micros) % 1_000_000, negative })
}

/** A time of signed microseconds. */
export function timeOfMicros(micros: bigint): Temporal {
  return timeOfSeconds(Number(micros / 1_000_000n), Number(micros % 1_000_000n))
}

/** Signed microseconds of a time, or from year 0 of a moment. */
export function microsOf(moment: Temporal): bigint {
  const micro = BigInt(moment.negative ? -moment.micro : moment.micro)
  const seconds = BigInt(moment.seconds) + (moment.kind === 'time' ? 0n : BigInt(moment.days * secondsOfDay))
  return seconds * 1_000_000n + micro
}

/** A date or moment with these fields; undefined where there is none. */
export function checkedMoment(kind: 'date' | 'datetime', fields: Fields): Temporal | undefined {
  const moment = new Temporal(kind, fields)
  const { year, month, day, hour, minute, second } = moment
  if (year > lastYear || month > 12 || hour > 23 || minute > 59 || second > 59) return undefined
  if (month > 0 && day > daysInMonth(year, month)) return undefined
  return day > 31 ? undefined : moment
}
