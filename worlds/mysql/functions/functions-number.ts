/**
 * MySQL's functions of numbers.
 *
 * Invariants
 * - Exact numbers stay exact; a result that is no number is NULL, one beyond a double is refused.
 */

import type { Compiled } from '../expressions/scope.ts'
import { outOfRange, refuse } from '../failure.ts'
import { Decimal } from '../values/decimal.ts'
import {
  decimalType,
  doubleType,
  fixedType,
  integerType,
  numericType,
  type Type,
  textType,
  unsignedType,
} from '../values/type.ts'
import { halfToEven, toDecimal, toNumber, toWhole, type Value } from '../values/value.ts'
import type { FunctionRule, FunctionTable, Numeric } from './function-rule.ts'
import { bounded } from './functions-text.ts'

function ofNumber([first]: readonly Compiled[]): Type {
  return numericType(first?.type ?? integerType)
}

function double(takes: string, name: string, call: (...args: number[]) => number | null): FunctionRule {
  return {
    takes,
    gives: doubleType,
    call: (...args: never[]) => {
      const value = call(...(args as number[]))
      if (value === null || Number.isNaN(value)) return null
      if (!Number.isFinite(value)) refuse(outOfRange('DOUBLE', `${name.toLowerCase()}(${args.join(',')})`))
      return value
    },
  }
}

/** Rounded or cut as MySQL does: scaled as a double, a half to the even neighbour. */
function roundedDouble(value: number, places: number, step: (scaled: number) => number): number {
  const factor = 10 ** Math.abs(places)
  if (places >= 0) {
    const scaled = value * factor
    return Number.isFinite(scaled) ? step(scaled) / factor : value
  }
  return Number.isFinite(factor) ? step(value / factor) * factor : 0
}

function roundedWhole(value: bigint, places: number, truncates: boolean): bigint {
  if (places >= 0) return value
  if (places < -20) return 0n
  const step = 10n ** BigInt(-places)
  const half = truncates ? 0n : value < 0n ? -(step / 2n) : step / 2n
  return ((value + half) / step) * step
}

function roundedDecimal(value: Decimal, places: number, truncates: boolean): Decimal {
  if (places >= 0) {
    const scale = Math.min(30, places, value.scale)
    return truncates ? value.truncated(scale) : value.rounded(scale)
  }
  const whole = truncates ? value.truncated(0).units : value.units
  if (truncates) return new Decimal(roundedWhole(whole, places, true), 0)
  const step = 10n ** BigInt(value.scale - Math.max(places, -60))
  const half = whole < 0n ? -(step / 2n) : step / 2n
  return new Decimal(((whole + half) / step) * 10n ** BigInt(-Math.max(places, -60)), 0)
}

function rounding(truncates: boolean): FunctionRule['call'] {
  return (value: Numeric, places = 0) => {
    if (typeof value === 'bigint') return roundedWhole(value, places, truncates)
    if (value instanceof Decimal) return roundedDecimal(value, places, truncates)
    return roundedDouble(value, places, truncates ? Math.trunc : halfToEven)
  }
}

/** With as many places as are asked for, if that is known. */
function roundedType([value, places]: readonly Compiled[]): Type {
  const type = numericType(value?.type ?? integerType)
  if (type.kind === 'integer') return type
  if (places !== undefined && places.constant === undefined) return type
  const given = places?.constant?.value ?? null
  const scale = given === null ? 0 : Math.max(0, Math.min(30, Number(toWhole(given))))
  return type.kind === 'decimal' ? decimalType(scale) : fixedType(scale)
}

function wholeOrDouble(args: readonly Compiled[]): Type {
  const type = ofNumber(args)
  return type.kind === 'double' ? doubleType : type.unsigned ? unsignedType : integerType
}

function stepped(double: (value: number) => number, up: boolean): FunctionRule['call'] {
  return (value: Numeric) => {
    if (typeof value === 'bigint') return value
    if (typeof value === 'number') return double(value)
    const whole = value.truncated(0)
    const order = value.compare(whole)
    return whole.units + (up && order > 0 ? 1n : !up && order < 0 ? -1n : 0n)
  }
}

function absolute(value: Numeric): Value {
  if (typeof value === 'bigint') {
    if (value === -(1n << 63n)) refuse(outOfRange('BIGINT', `abs(${value})`))
    return value < 0n ? -value : value
  }
  if (typeof value === 'number') return Math.abs(value)
  return value.units < 0n ? value.negated() : value
}

function remainder(args: readonly Compiled[]): Type {
  const [left, right] = args.map(({ type }) => numericType(type))
  if (left === undefined || right === undefined) return integerType
  if (left.kind === 'double' || right.kind === 'double') return doubleType
  if (left.kind === 'integer' && right.kind === 'integer') return left.unsigned ? unsignedType : integerType
  return decimalType(Math.max(left.scale, right.scale))
}

function mod(left: Numeric, right: Numeric): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') return right === 0n ? null : left % right
  if (typeof left === 'number' || typeof right === 'number') {
    const divisor = toNumber(right)
    return divisor === 0 ? null : toNumber(left) % divisor
  }
  return toDecimal(left).rest(toDecimal(right)) ?? null
}

function logarithm(first: number, second?: number): number | null {
  if (second === undefined) return first > 0 ? Math.log(first) : null
  return first > 0 && first !== 1 && second > 0 ? Math.log(second) / Math.log(first) : null
}

const digits = '0123456789abcdefghijklmnopqrstuvwxyz'

/** A number in another base; a negative base makes the number signed. */
function converted(given: string, from: number, to: number): Value {
  if ([from, to].some((base) => Math.abs(base) < 2 || Math.abs(base) > 36)) return null
  const [, sign = '', body = ''] = /^\s*(-?)([0-9a-z]*)/i.exec(given) ?? []
  const base = BigInt(Math.abs(from))
  let value = 0n
  for (const letter of body.toLowerCase()) {
    const digit = digits.indexOf(letter)
    if (digit >= Math.abs(from)) break
    value = value * base + BigInt(digit)
  }
  const most = (1n << 64n) - 1n
  if (value > most) value = most
  const signed = BigInt.asUintN(64, sign === '-' ? -value : value)
  const shown = to < 0 ? BigInt.asIntN(64, signed) : signed
  return shown.toString(Math.abs(to)).toUpperCase()
}

function inBase(base: number): FunctionRule {
  return {
    takes: 'any',
    gives: textType,
    call: (value: never) => converted(wholeText(value), 10, base),
  }
}

/** BIN and OCT read a number's digits, cut where they end. */
function wholeText(value: Value): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  return String(typeof value === 'bigint' ? value : toDecimal(value).truncated(0))
}

/** With commas between thousands. */
function formatted(value: Numeric, places: number): string {
  const shown = Math.max(0, Math.min(30, places))
  const rounded =
    typeof value === 'number' ? toDecimal(roundedDouble(value, shown, halfToEven)) : toDecimal(value)
  const text = rounded.rounded(shown).toString()
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(.*)$/.exec(text) ?? []
  return bounded(`${sign}${whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')}${fraction}`)
}

function bitCount(value: bigint): bigint {
  let bits = BigInt.asUintN(64, value)
  let count = 0n
  for (; bits > 0n; bits >>= 1n) count += bits & 1n
  return count
}

function sign(value: Numeric): Value {
  if (value instanceof Decimal) return value.units > 0n ? 1n : value.units < 0n ? -1n : 0n
  return value > 0 ? 1n : value < 0 ? -1n : 0n
}

/** The interval in which a number lies. */
function intervalOf(...values: readonly (Numeric | null)[]): bigint {
  const [value = null, ...bounds] = values
  if (value === null) return -1n
  let at = 0
  for (const bound of bounds) {
    if (bound !== null && toNumber(bound) > toNumber(value)) break
    at++
  }
  return BigInt(at)
}

function inetNumber(text: string): Value {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number)
  if (parts === undefined || parts.some((part) => part > 255)) return null
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n)
}

function inetText(value: bigint): Value {
  if (value < 0n || value > 0xffffffffn) return null
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.')
}

export const numberFunctions: FunctionTable = {
  ABS: { takes: 'number', gives: ofNumber, call: absolute },
  SIGN: { takes: 'number', gives: integerType, call: sign },
  CEILING: { takes: 'number', gives: wholeOrDouble, call: stepped(Math.ceil, true) },
  FLOOR: { takes: 'number', gives: wholeOrDouble, call: stepped(Math.floor, false) },
  ROUND: { takes: 'number integer?', gives: roundedType, call: rounding(false) },
  TRUNCATE: { takes: 'number integer', gives: roundedType, call: rounding(true) },
  MOD: { takes: 'number number', gives: remainder, call: mod },
  SQRT: double('double', 'SQRT', (value) => (value < 0 ? null : Math.sqrt(value))),
  EXP: double('double', 'EXP', Math.exp),
  LN: double('double', 'LN', (value) => logarithm(value)),
  LOG: double('double double?', 'LOG', logarithm),
  LOG2: double('double', 'LOG2', (value) => (value > 0 ? Math.log(value) / Math.LN2 : null)),
  LOG10: double('double', 'LOG10', (value) => (value > 0 ? Math.log10(value) : null)),
  POW: double('double double', 'POW', (base, exponent) => {
    const power = base ** exponent
    return Number.isNaN(power) ? Number.POSITIVE_INFINITY : power
  }),
  SIN: double('double', 'SIN', Math.sin),
  COS: double('double', 'COS', Math.cos),
  TAN: double('double', 'TAN', Math.tan),
  COT: double('double', 'COT', (value) => 1 / Math.tan(value)),
  ASIN: double('double', 'ASIN', Math.asin),
  ACOS: double('double', 'ACOS', Math.acos),
  ATAN: double('double double?', 'ATAN', (y, x) => (x === undefined ? Math.atan(y) : Math.atan2(y, x))),
  DEGREES: double('double', 'DEGREES', (value) => value * (180 / Math.PI)),
  RADIANS: double('double', 'RADIANS', (value) => value * (Math.PI / 180)),
  PI: { takes: '', gives: fixedType(6), call: () => Math.PI },
  CONV: { takes: 'text integer integer', gives: textType, call: converted },
  BIN: inBase(2),
  OCT: inBase(8),
  FORMAT: { takes: 'number integer', gives: textType, call: formatted },
  BIT_COUNT: { takes: 'whole', gives: integerType, call: bitCount },
  INTERVAL: { takes: 'number number...', gives: integerType, seesNull: true, call: intervalOf },
  INET_ATON: { takes: 'text', gives: integerType, call: inetNumber },
  INET_NTOA: { takes: 'whole', gives: textType, call: inetText },
}

export const numberAliases: Readonly<Record<string, string>> = {
  CEIL: 'CEILING',
  POWER: 'POW',
  ATAN2: 'ATAN',
}
