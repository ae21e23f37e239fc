/**
 * MySQL's functions of dates and times.
 *
 * Invariants
 * - A text that is no date or time gives NULL.
 */

import { unitsBetween } from '../expressions/interval.ts'
import type { Compiled } from '../expressions/scope.ts'
import {
  dayNames,
  formatted,
  kindOfFormat,
  monthNames,
  parsedBy,
  weekdayOf,
  weekMode,
  weekOf,
} from '../values/date-format.ts'
import { Decimal } from '../values/decimal.ts'
import {
  checkedMoment,
  dateOfDays,
  dayNumber,
  daysInMonth,
  microsOf,
  momentOf,
  secondsOfDay,
  Temporal,
  timeOfMicros,
  timeOfSeconds,
} from '../values/temporal.ts'
import { parseMomentOfTime, parseTime } from '../values/temporal-text.ts'
import {
  decimalType,
  integerType,
  isTemporal,
  numericType,
  placesOf,
  secondsScaleOf,
  type Type,
  temporalType,
  textType,
} from '../values/type.ts'
import {
  now,
  nowSeconds,
  type Present,
  toDecimal,
  toMoment,
  toText,
  toTime,
  type Value,
} from '../values/value.ts'
import type { FunctionRule, FunctionTable, Numeric } from './function-rule.ts'

function whole(takes: string, read: (moment: Temporal, ...more: never[]) => number): FunctionRule {
  return {
    takes,
    gives: integerType,
    call: (moment: Temporal, ...more: never[]) => BigInt(read(moment, ...more)),
  }
}

function scaleOf(args: readonly Compiled[], at = 0): number {
  const type = args[at]?.type
  return type === undefined ? 0 : secondsScaleOf(type)
}

/** Decimal places of a number of seconds; a text may have any. */
function numberScale(args: readonly Compiled[], at = 0): number {
  return placesOf(numericType(args[at]?.type ?? integerType)) ?? 6
}

function daysBefore(date: Temporal): number {
  return date.days - dayNumber(date.year, 1, 1)
}

function weekNumber(day: Temporal, mode = 0): bigint {
  return BigInt(weekOf(day, weekMode(mode)).week)
}

function yearWeek(day: Temporal, mode = 0): bigint {
  const { week, year } = weekOf(day, weekMode(mode) | 2)
  return BigInt(year * 100 + week)
}

function secondsSinceEpoch(moment: Temporal | undefined): Value {
  if (moment === undefined || !moment.isWholeDate) return 0n
  const seconds = (moment.days - dayNumber(1970, 1, 1)) * secondsOfDay + moment.seconds
  if (seconds < 0) return 0n
  return moment.micro === 0
    ? BigInt(seconds)
    : new Decimal(BigInt(seconds) * 1_000_000n + BigInt(moment.micro), 6)
}

function momentOfEpoch(seconds: Numeric): Temporal | null {
  const micros = toDecimal(seconds).rounded(6).units
  if (micros < 0n || micros > 32_536_771_199_999_999n) return null
  const whole = Number(micros / 1_000_000n)
  return momentOf(dayNumber(1970, 1, 1), whole, Number(micros % 1_000_000n), 'datetime') ?? null
}

/** A time, or a moment where the text is one. */
function timeOrMoment(value: Present): Temporal | undefined {
  if (value instanceof Temporal) return value
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return toTime(value)
  const text = toText(value)
  return parseMomentOfTime(text) ?? parseTime(text)
}

function timeDifference(left: Present, right: Present): Value {
  const [a, b] = [timeOrMoment(left), timeOrMoment(right)]
  if (a === undefined || b === undefined || (a.kind === 'time') !== (b.kind === 'time')) return null
  return timeOfMicros(
    microsOf(a.as(a.kind === 'date' ? 'datetime' : a.kind)) -
      microsOf(b.as(b.kind === 'date' ? 'datetime' : b.kind)),
  )
}

function timeSum(negative: boolean): FunctionRule {
  return {
    takes: 'any any',
    gives: ([first, second]) => {
      const type = first?.type ?? textType
      const scale = Math.max(secondsScaleOf(type), second === undefined ? 0 : secondsScaleOf(second.type))
      if (type.kind === 'time') return temporalType('time', scale)
      return isTemporal(type) ? temporalType('datetime', scale) : textType
    },
    call: (given: Present, amount: Present) => {
      const start = timeOrMoment(given) ?? toMoment(given)
      const added = timeOrMoment(amount)
      if (start === undefined || added === undefined || added.kind !== 'time') return null
      const micros = microsOf(added)
      const sum = plusMicros(start, negative ? -micros : micros)
      return given instanceof Temporal ? sum : (sum?.toText() ?? null)
    },
  }
}

function plusMicros(start: Temporal, micros: bigint): Temporal | null {
  if (start.kind === 'time') return timeOfMicros(microsOf(start) + micros)
  if (!start.isWholeDate) return null
  const total = BigInt(start.micro) + micros
  const seconds = start.seconds + Number(total / 1_000_000n)
  return momentOf(start.days, seconds, Number(total % 1_000_000n), 'datetime') ?? null
}

function madeDate(year: number, dayOfYear: number): Value {
  if (year < 0 || year > 9999 || dayOfYear <= 0) return null
  const full = year < 70 ? year + 2000 : year < 100 ? year + 1900 : year
  return dateOfDays(dayNumber(full, 1, 1) + dayOfYear - 1) ?? null
}

function madeTime(hour: number, minute: number, second: Numeric): Value {
  const micros = toDecimal(second).rounded(6).units
  if (minute < 0 || minute > 59 || micros < 0n || micros >= 60_000_000n) return null
  const seconds = Math.abs(hour) * 3600 + minute * 60 + Number(micros / 1_000_000n)
  const micro = Number(micros % 1_000_000n)
  return hour < 0 ? timeOfSeconds(-seconds, -micro) : timeOfSeconds(seconds, micro)
}

function periodMonths(period: number): number {
  const year = Math.floor(period / 100)
  const full = year < 70 ? year + 2000 : year < 100 ? year + 1900 : year
  return full * 12 + (period % 100) - 1
}

function periodSum(period: number, months: number): bigint {
  const total = periodMonths(period) + months
  return BigInt(Math.floor(total / 12) * 100 + (total % 12) + 1)
}

const formats: Readonly<Record<string, string>> = {
  'DATE USA': '%m.%d.%Y',
  'DATE JIS': '%Y-%m-%d',
  'DATE ISO': '%Y-%m-%d',
  'DATE EUR': '%d.%m.%Y',
  'DATE INTERNAL': '%Y%m%d',
  'DATETIME USA': '%Y-%m-%d %H.%i.%s',
  'DATETIME JIS': '%Y-%m-%d %H:%i:%s',
  'DATETIME ISO': '%Y-%m-%d %H:%i:%s',
  'DATETIME EUR': '%Y-%m-%d %H.%i.%s',
  'DATETIME INTERNAL': '%Y%m%d%H%i%s',
  'TIME USA': '%h:%i:%s %p',
  'TIME JIS': '%H:%i:%s',
  'TIME ISO': '%H:%i:%s',
  'TIME EUR': '%H.%i.%s',
  'TIME INTERNAL': '%H%i%s',
}

/** Digits of a moment from one unit to another: EXTRACT(YEAR_MONTH FROM …). */
function extracted(unit: string, given: Present): Value {
  const needsDate = ['YEAR', 'YEAR_MONTH', 'QUARTER', 'MONTH', 'WEEK', 'DAY'].includes(unit)
  const moment = needsDate ? toMoment(given) : (timeOrMoment(given) ?? toMoment(given))
  if (moment === undefined) return null
  const { year, month, day, hour, minute, second, micro } = moment
  const clock: Readonly<Record<string, number>> = {
    ...{ YEAR: year, MONTH: month, DAY: day, HOUR: hour, MINUTE: minute, SECOND: second, MICROSECOND: micro },
    ...{ YEAR_MONTH: year * 100 + month, QUARTER: Math.ceil(month / 3), WEEK: 0 },
  }
  if (unit === 'WEEK') return moment.isWholeDate ? weekNumber(moment) : null
  const single = clock[unit]
  if (single !== undefined) return BigInt(moment.negative ? -single : single)
  const [first = '', last = ''] = unit.split('_')
  const units = ['DAY', 'HOUR', 'MINUTE', 'SECOND', 'MICROSECOND']
  let digits = 0
  for (const name of units.slice(units.indexOf(first), units.indexOf(last) + 1))
    digits = digits * (name === 'MICROSECOND' ? 1_000_000 : 100) + (clock[name] ?? 0)
  return BigInt(moment.negative ? -digits : digits)
}

const zone = /^([+-])(\d{1,2}):(\d{2})$/

function zoneSeconds(name: string): number | undefined {
  if (/^(?:system|utc)$/i.test(name)) return 0
  const [, sign, hours, minutes] = zone.exec(name) ?? []
  if (sign === undefined || Number(minutes) > 59) return undefined
  const seconds = Number(hours) * 3600 + Number(minutes) * 60
  if (seconds > 14 * 3600) return undefined
  return sign === '-' ? -seconds : seconds
}

function inZone(moment: Temporal, from: string, to: string): Value {
  const [start, end] = [zoneSeconds(from), zoneSeconds(to)]
  if (start === undefined || end === undefined || !moment.isWholeDate) return null
  return momentOf(moment.days, moment.seconds + end - start, moment.micro, 'datetime') ?? null
}

function typeOfFormat([, format]: readonly Compiled[]): Type {
  const constant = format?.constant?.value
  if (typeof constant !== 'string') return temporalType('datetime', 6)
  const { kind, scale } = kindOfFormat(constant)
  return temporalType(kind, scale)
}

function timestampOf(given: Temporal, amount?: Present): Value {
  const moment = given.as('datetime')
  if (amount === undefined) return moment
  const added = timeOrMoment(amount)
  return added?.kind === 'time' ? plusMicros(moment, microsOf(added)) : null
}

const fromUnixTime: FunctionRule = {
  takes: 'number text?',
  gives: (args) => (args.length > 1 ? textType : temporalType('datetime', numberScale(args))),
  call: (seconds: Numeric, format?: string) => {
    const moment = momentOfEpoch(seconds)
    return moment === null || format === undefined ? moment : formatted(moment, format)
  },
}

const clockFunctions: FunctionTable = {
  NOW: { takes: 'integer?', gives: (args) => temporalType('datetime', clockScale(args)), call: () => now },
  CURDATE: { takes: '', gives: temporalType('date'), call: () => now.as('date') },
  CURTIME: {
    takes: 'integer?',
    gives: (args) => temporalType('time', clockScale(args)),
    call: () => now.as('time'),
  },
  UNIX_TIMESTAMP: {
    takes: 'any?',
    gives: (args) => (scaleOf(args) > 0 ? decimalType(scaleOf(args)) : integerType),
    call: (given?: Present) =>
      given === undefined ? BigInt(nowSeconds) : secondsSinceEpoch(toMoment(given)),
  },
}

function clockScale([scale]: readonly Compiled[]): number {
  const value = scale?.constant?.value
  return typeof value === 'bigint' ? Number(value) : 0
}

export const dateFunctions: FunctionTable = {
  ...clockFunctions,
  YEAR: whole('moment', ({ year }) => year),
  QUARTER: whole('moment', ({ month }) => Math.ceil(month / 3)),
  MONTH: whole('moment', ({ month }) => month),
  DAY: whole('moment', ({ day }) => day),
  HOUR: whole('time', ({ hour }) => hour),
  MINUTE: whole('time', ({ minute }) => minute),
  SECOND: whole('time', ({ second }) => second),
  MICROSECOND: whole('time', ({ micro }) => micro),
  DAYOFYEAR: whole('day', (day) => daysBefore(day) + 1),
  DAYOFWEEK: whole('day', (day) => weekdayOf(day.days, true) + 1),
  WEEKDAY: whole('day', (day) => weekdayOf(day.days)),
  WEEK: { takes: 'day integer', gives: integerType, call: weekNumber },
  WEEKOFYEAR: whole('day', (day) => weekOf(day, weekMode(3)).week),
  YEARWEEK: { takes: 'day integer?', gives: integerType, call: yearWeek },
  DAYNAME: { takes: 'day', gives: textType, call: (day: Temporal) => dayNames[weekdayOf(day.days)] ?? null },
  MONTHNAME: {
    takes: 'moment',
    gives: textType,
    call: ({ month }: Temporal) => monthNames[month - 1] ?? null,
  },
  LAST_DAY: {
    takes: 'moment',
    gives: temporalType('date'),
    call: ({ year, month }: Temporal) =>
      month === 0 ? null : (checkedMoment('date', { year, month, day: daysInMonth(year, month) }) ?? null),
  },
  TO_DAYS: whole('day', ({ days }) => days),
  TO_SECONDS: whole('day', ({ days, seconds }) => days * secondsOfDay + seconds),
  FROM_DAYS: {
    takes: 'integer',
    gives: temporalType('date'),
    call: (days: number) => dateOfDays(days) ?? new Temporal('date', {}),
  },
  DATEDIFF: whole('day day', (left: Temporal, right: Temporal) => left.days - right.days),
  TIMEDIFF: {
    takes: 'any any',
    gives: (args) => temporalType('time', Math.max(scaleOf(args), scaleOf(args, 1))),
    call: timeDifference,
  },
  ADDTIME: timeSum(false),
  SUBTIME: timeSum(true),
  DATE: {
    takes: 'moment',
    gives: temporalType('date'),
    call: (moment: Temporal) => moment.as('date'),
  },
  TIME: {
    takes: 'time',
    gives: (args) => temporalType('time', scaleOf(args)),
    call: (time: Temporal) => time,
  },
  TIMESTAMP: {
    takes: 'moment any?',
    gives: (args) => temporalType('datetime', Math.max(...args.map((_, at) => scaleOf(args, at)))),
    call: timestampOf,
  },
  TIME_TO_SEC: whole('time', ({ seconds }) => seconds),
  SEC_TO_TIME: {
    takes: 'number',
    gives: (args) => temporalType('time', numberScale(args)),
    call: (seconds: Numeric) => timeOfMicros(toDecimal(seconds).rounded(6).units),
  },
  MAKEDATE: { takes: 'integer integer', gives: temporalType('date'), call: madeDate },
  MAKETIME: {
    takes: 'integer integer number',
    gives: (args) => temporalType('time', numberScale(args, 2)),
    call: madeTime,
  },
  FROM_UNIXTIME: fromUnixTime,
  PERIOD_ADD: { takes: 'integer integer', gives: integerType, call: periodSum },
  PERIOD_DIFF: {
    takes: 'integer integer',
    gives: integerType,
    call: (left: number, right: number) => BigInt(periodMonths(left) - periodMonths(right)),
  },
  DATE_FORMAT: { takes: 'moment text', gives: textType, call: formatted },
  TIME_FORMAT: { takes: 'time text', gives: textType, call: formatted },
  STR_TO_DATE: {
    takes: 'text text',
    gives: typeOfFormat,
    call: (text: string, format: string) => parsedBy(text, format) ?? null,
  },
  GET_FORMAT: {
    takes: 'text text',
    gives: textType,
    call: (kind: string, name: string) =>
      formats[`${kind === 'TIMESTAMP' ? 'DATETIME' : kind} ${name.toUpperCase()}`] ?? null,
  },
  CONVERT_TZ: {
    takes: 'moment text text',
    gives: (args) => temporalType('datetime', scaleOf(args)),
    call: inZone,
  },
  EXTRACT: { takes: 'text any', gives: integerType, call: extracted },
  TIMESTAMPDIFF: { takes: 'text day day', gives: integerType, call: unitsBetween },
}

export const dateAliases: Readonly<Record<string, string>> = {
  DAYOFMONTH: 'DAY',
  CURRENT_DATE: 'CURDATE',
  UTC_DATE: 'CURDATE',
  CURRENT_TIME: 'CURTIME',
  UTC_TIME: 'CURTIME',
  CURRENT_TIMESTAMP: 'NOW',
  UTC_TIMESTAMP: 'NOW',
  LOCALTIME: 'NOW',
  LOCALTIMESTAMP: 'NOW',
  SYSDATE: 'NOW',
}
