/**
 * Values of MySQL, and how it turns one kind into another.
 *
 * Invariants
 * - Integers are bigint, doubles number, texts string; decimals, temporals and bytes have classes.
 * - Texts compare as in MySQL's default collation (utf8mb4_0900_ai_ci): case and accents do not count, blanks do.
 * - A text counts as the number that it begins with.
 * - It is stopped, so that a session that is played again says the same.
 */
import type { Cell } from '../database.ts'
import { Decimal } from './decimal.ts'
import { momentOf, Temporal } from './temporal.ts'
import { momentOfNumber, parseMoment, parseTime, timeOfNumber } from './temporal-text.ts'
import { isTemporal, type Type } from './type.ts'

export type Value = null | string | bigint | number | Decimal | Temporal | Uint8Array
export type Present = Exclude<Value, null>
const collator = new Intl.Collator('und', { sensitivity: 'base' })

/** −1, 0 or 1, by the default collation. */
export function compareTexts(left: string, right: string): number {
  return left === right ? 0 : collator.compare(left, right)
}

const numericPrefix = /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/
const exactPrefix = /^\s*([+-]?(?:\d+\.?\d*|\.\d+))(?![eE][+-]?\d)/
const wholePrefix = /^\s*([+-]?\d+)/

/** The number that a text begins with, 0 where it begins with none. */
export function numberOfText(text: string): number {
  const number = Number(numericPrefix.exec(text)?.[1] ?? 0)
  return Number.isFinite(number) ? number : Math.sign(number) * Number.MAX_VALUE
}

export function toNumber(value: Present): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Decimal) return value.toNumber()
  if (value instanceof Temporal) return toDecimal(value).toNumber()
  return numberOfText(toText(value))
}

const maximum = (1n << 63n) - 1n
const minimum = -(1n << 63n)

/** The nearest integer that eight bytes hold. */
export function wholeOfDouble(value: number): bigint {
  if (Number.isNaN(value)) return 0n
  if (value >= 2 ** 63) return maximum
  return value <= -(2 ** 63) ? minimum : BigInt(halfToEven(value))
}

/** The nearest whole number; of two that are as near, the even one. */
export function halfToEven(value: number): number {
  const floor = Math.floor(value)
  if (value - floor !== 0.5) return Math.round(value)
  return floor % 2 === 0 ? floor : floor + 1
}

/** As integer: numbers are rounded, of a text the digits that it begins with count. */
export function toWhole(value: Present): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return wholeOfDouble(value)
  if (value instanceof Decimal) return value.whole()
  if (value instanceof Temporal) return BigInt(value.rounded(0).toWhole())
  const whole = BigInt(wholePrefix.exec(toText(value))?.[1]?.replace('+', '') ?? 0)
  return whole > (1n << 64n) - 1n ? (1n << 64n) - 1n : whole < minimum ? minimum : whole
}

export function toDecimal(value: Present): Decimal {
  if (value instanceof Decimal) return value
  if (typeof value === 'bigint') return new Decimal(value, 0)
  if (value instanceof Temporal) {
    const whole = new Decimal(BigInt(value.toWhole()), 0)
    const fraction = new Decimal(BigInt(value.negative ? -value.micro : value.micro), 6)
    return value.micro === 0 ? whole : whole.plus(fraction)
  }
  if (typeof value === 'string') {
    const exact = exactPrefix.exec(value)
    if (exact !== null) return Decimal.parse(exact[1] ?? '0')
  }
  return decimalOfDouble(toNumber(value))
}

function decimalOfDouble(value: number): Decimal {
  if (!Number.isFinite(value)) return new Decimal(0n, 0)
  const [digits = '0', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  const mantissa = Decimal.parse(digits)
  if (exponent >= 0) {
    const scaled = new Decimal(mantissa.units * 10n ** BigInt(exponent), mantissa.scale)
    return scaled.rounded(Math.max(0, mantissa.scale - exponent))
  }
  return new Decimal(mantissa.units, Math.min(300, mantissa.scale - exponent)).rounded(
    Math.min(30, mantissa.scale - exponent),
  )
}

// A byte order mark is a character of the text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

const encoder = new TextEncoder()

/** As text, in MySQL's way. @param type of the expression, which says how many decimal places are shown */
export function toText(value: Present, type?: Type): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return shownDouble(value, type)
  if (value instanceof Decimal)
    return (type?.kind === 'decimal' && !type.natural ? value.rounded(type.scale) : value).toString()
  if (value instanceof Temporal)
    return value.toText(type !== undefined && isTemporal(type) ? type.scale : undefined)
  return decoder.decode(value)
}

/** MySQL prints 17 digits at most, and exponents without a plus from 1e15 on. */
export function textOfDouble(value: number): string {
  if (Object.is(value, -0)) return '-0'
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e15 || size < 1e-15) return value.toExponential().replace('e+', 'e')
  const text = String(value)
  if (!text.includes('e')) return text
  const [digits = '', exponent = '0'] = size.toExponential().split('e')
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(-Number(exponent) - 1)}${digits.replace('.', '')}`
}

function shownDouble(value: number, type: Type | undefined): string {
  if (type?.single) return textOfDouble(Number(value.toPrecision(6)))
  if (type?.fixed && Math.abs(value) < 1e21) return value.toFixed(type.scale)
  return textOfDouble(value)
}

export function toBytes(value: Present): Uint8Array {
  return value instanceof Uint8Array ? value : encoder.encode(toText(value))
}

/** Whether a value counts as true. */
export function isTrue(value: Present): boolean {
  if (typeof value === 'bigint') return value !== 0n
  if (value instanceof Decimal) return value.units !== 0n
  return toNumber(value) !== 0
}

export function truth(holds: boolean | null): Value {
  return holds === null ? null : holds ? 1n : 0n
}

/** The date or moment that a value is; undefined where it is none. */
export function toMoment(value: Present): Temporal | undefined {
  if (value instanceof Temporal) return value.kind === 'time' ? today(value) : value
  if (typeof value === 'string' || value instanceof Uint8Array) return parseMoment(toText(value))
  return momentOfNumber(toNumber(value))
}

/** The time that a value is; undefined where it is none. */
export function toTime(value: Present): Temporal | undefined {
  if (value instanceof Temporal) return value.as('time')
  if (typeof value === 'string' || value instanceof Uint8Array) return parseTime(toText(value))
  return timeOfNumber(toNumber(value))
}

const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
}

/** Folded so that texts equal by the collation are equal by letter, one letter after another. */
export function foldText(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.replaceAll(/[ßæœøłđı]/g, (letter) => letters[letter] ?? letter)
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false
  return true
}

/** Without the spaces at the end, which a padded collation does not count. */
export function withoutPadding(text: string): string {
  return text.replace(/ +$/, '')
}

/** The same for values of one type that are equal, and only for those. */
export function keyOf(value: Value, type: Type): string {
  if (value === null) return 'null'
  if (typeof value === 'string') {
    const text = type.padded ? withoutPadding(value) : value
    return type.binary ? `=${text}` : `=${foldText(text)}`
  }
  if (value instanceof Decimal) {
    const text = toText(value, type)
    return text.includes('.') ? text.replace(/\.?0+$/, '') : text
  }
  if (value instanceof Temporal) return value.toText(6)
  if (value === 0) return '0'
  return typeof value === 'object' ? `=${Buffer.from(value).toString('latin1')}` : String(value)
}

export function cellOf(value: Value, type: Type): Cell {
  if (value === null) return null
  return { kind: type.kind === 'null' ? 'text' : type.kind, text: toText(value, type) }
}

/** About how much memory a row takes. */
export function bytesOfRow(row: readonly Value[]): number {
  let bytes = 32
  for (const value of row) {
    bytes += 16
    if (typeof value === 'string') bytes += value.length
    else if (value instanceof Uint8Array) bytes += value.length
  }
  return bytes
}

/** The clock of the embedded databases. */
export const now = new Temporal('datetime', { year: 2024, month: 1, day: 1 })

/** The same in seconds since 1970. */
export const nowSeconds = Date.UTC(2024, 0, 1) / 1000

/** A time as the moment that it is today. */
function today(time: Temporal): Temporal | undefined {
  return momentOf(now.days, time.seconds, time.negative ? -time.micro : time.micro, 'datetime')
}
