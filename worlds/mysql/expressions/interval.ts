/**
 * Adds intervals to moments: DATE_ADD, `+ INTERVAL`, TIMESTAMPADD.
 *
 * Invariants
 * - A day that the month lacks becomes the month's last one.
 * - A text stays a text, a date a date while the interval has whole days.
 */

import type { Expression } from '../syntax/syntax.ts'
import { daysInMonth, microsOf, momentOf, Temporal, timeOfMicros } from '../values/temporal.ts'
import { isTemporal, secondsScaleOf, type Type, temporalType, textType } from '../values/type.ts'
import { type Present, toDecimal, toMoment, toText, toWhole, type Value } from '../values/value.ts'
import type { Compiled, Scope } from './scope.ts'

interface Interval {
  readonly months: number
  readonly days: number
  readonly micros: bigint
}

const microsOfUnit: Readonly<Record<string, bigint>> = {
  DAY: 86_400_000_000n,
  HOUR: 3_600_000_000n,
  MINUTE: 60_000_000n,
  SECOND: 1_000_000n,
  MICROSECOND: 1n,
}
const partsOfUnit = ['DAY', 'HOUR', 'MINUTE', 'SECOND', 'MICROSECOND']
const monthsOfUnit: Readonly<Record<string, number>> = { MONTH: 1, QUARTER: 3, YEAR: 12 }
const wholeDays = new Set(['DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR', 'YEAR_MONTH'])

export function compileShift(
  { moment, count, unit, negative }: Extract<Expression, { kind: 'shift' }>,
  scope: Scope,
): Compiled {
  const [from, amount] = [scope.compile(moment), scope.compile(count)]
  const type = shiftedType(from.type, amount.type, unit)
  return {
    type,
    get: () => {
      const [start, size] = [from.get(), amount.get()]
      if (start === null || size === null) return null
      const interval = intervalOf(size, amount.type, unit, negative)
      const shifted = interval === undefined ? undefined : shiftedBy(start, interval, type, unit)
      if (shifted === undefined) return null
      return type.kind === 'text' ? shifted.toText() : shifted
    },
  }
}

function shiftedType(from: Type, amount: Type, unit: string): Type {
  const fraction = unit.endsWith('MICROSECOND') ? 6 : unit === 'SECOND' ? secondsScaleOf(amount) : 0
  if (!isTemporal(from)) return textType
  const scale = Math.max(from.scale, fraction)
  if (from.kind === 'time') return temporalType(wholeDays.has(unit) ? 'datetime' : 'time', scale)
  return from.kind === 'date' && wholeDays.has(unit) ? from : temporalType('datetime', scale)
}

function intervalOf(size: Present, type: Type, unit: string, negative: boolean): Interval | undefined {
  const sign = negative ? -1 : 1
  if (unit === 'SECOND') {
    const micros = toDecimal(size).rounded(6).units
    return { months: 0, days: 0, micros: negative ? -micros : micros }
  }
  if (!unit.includes('_')) {
    const amount = sign * Number(toWhole(size))
    const months = monthsOfUnit[unit]
    if (months !== undefined) return { months: amount * months, days: 0, micros: 0n }
    if (unit === 'DAY' || unit === 'WEEK')
      return { months: 0, days: amount * (unit === 'WEEK' ? 7 : 1), micros: 0n }
    return { months: 0, days: 0, micros: BigInt(amount) * (microsOfUnit[unit] ?? 0n) }
  }
  return compoundInterval(toText(size, type), unit, sign)
}

/** `'1:30' HOUR_MINUTE`; where parts are missing, they are the first ones. */
function compoundInterval(text: string, unit: string, sign: number): Interval | undefined {
  const numbers = (text.match(/\d+/g) ?? []).map(Number)
  const direction = /^\s*-/.test(text) ? -sign : sign
  const [first = '', last = ''] = unit.split('_')
  const units =
    unit === 'YEAR_MONTH'
      ? ['YEAR', 'MONTH']
      : partsOfUnit.slice(partsOfUnit.indexOf(first), partsOfUnit.indexOf(last) + 1)
  if (numbers.length > units.length) return undefined
  const parts = [...Array.from({ length: units.length - numbers.length }, () => 0), ...numbers]
  let [months, micros] = [0, 0n]
  for (const [at, name] of units.entries()) {
    const amount = direction * (parts[at] ?? 0)
    months += amount * (monthsOfUnit[name] ?? 0)
    micros += BigInt(amount) * (monthsOfUnit[name] === undefined ? (microsOfUnit[name] ?? 0n) : 0n)
  }
  return { months, days: 0, micros }
}

function shiftedBy(value: Present, interval: Interval, type: Type, unit: string): Temporal | undefined {
  if (value instanceof Temporal && value.kind === 'time' && type.kind === 'time')
    return timeOfMicros(microsOf(value) + interval.micros)
  const moment = value instanceof Temporal && value.kind === 'time' ? undefined : toMoment(value)
  if (moment === undefined || !moment.isWholeDate) return undefined
  const kind = moment.kind === 'date' && wholeDays.has(unit) ? 'date' : 'datetime'
  if (interval.months !== 0) {
    const shifted = plusMonths(moment, interval.months)
    return shifted === undefined ? undefined : plusTime(shifted, interval, kind)
  }
  return plusTime(moment, interval, kind)
}

function plusTime(
  moment: Temporal,
  { days, micros }: Interval,
  kind: 'date' | 'datetime',
): Temporal | undefined {
  if (!Number.isSafeInteger(days) || days > 1e8 || days < -1e8) return undefined
  if (micros > 10n ** 18n || micros < -(10n ** 18n)) return undefined
  const total = BigInt(moment.micro) + micros
  const seconds = total / 1_000_000n
  const shifted = momentOf(
    moment.days + days,
    moment.seconds + Number(seconds),
    Number(total % 1_000_000n),
    kind,
  )
  return shifted !== undefined && shifted.days >= 1 ? shifted : undefined
}

function plusMonths(moment: Temporal, months: number): Temporal | undefined {
  const total = moment.year * 12 + moment.month - 1 + months
  const [year, month] = [Math.floor(total / 12), (((total % 12) + 12) % 12) + 1]
  if (year < 0 || year > 9999) return undefined
  return new Temporal(moment.kind, {
    ...moment,
    year,
    month,
    day: Math.min(moment.day, daysInMonth(year, month)),
  })
}

/** Whole units between two moments. */
export function unitsBetween(unit: string, from: Temporal, to: Temporal): Value {
  if (!from.isWholeDate || !to.isWholeDate) return null
  const [start, end] = [microsOf(from.as('datetime')), microsOf(to.as('datetime'))]
  const months = monthsOfUnit[unit]
  if (months === undefined) {
    const micros = unit === 'WEEK' ? 7n * 86_400_000_000n : (microsOfUnit[unit] ?? 1n)
    return (end - start) / micros
  }
  const [early, late] = start <= end ? [from, to] : [to, from]
  let count = (late.year - early.year) * 12 + late.month - early.month
  const isShort =
    late.day < early.day ||
    (late.day === early.day && late.seconds * 1e6 + late.micro < early.seconds * 1e6 + early.micro)
  if (isShort) count--
  const whole = BigInt(Math.trunc(count / months))
  return start <= end ? whole : -whole
}
