/**
 * MySQL's operators as functions: comparison, arithmetic, patterns, conversion.
 *
 * SQLite compares by declared types and divides whole numbers to whole ones; MySQL does neither, so that the
 * translated statement calls these instead.
 *
 * Invariants
 * - NULL in, NULL out, but for `<=>`.
 * - A text counts as the number it begins with, in changes of data too: AgentBench's hashes were made so.
 */
import { StatementRefused, tooLarge } from './failure.ts'
import { matchesLike, matchesPattern } from './pattern.ts'
import type { SqlFunction } from './sqlite.ts'
import { valueBytes } from './sqlite-limits.ts'
import { compareValues, isTrue, numberOfText, toBytes, toNumber, toText, type Value } from './value.ts'

/** What functions know of the statement that runs. */
export interface StatementContext {
  /** Uniform in [0, 1). */
  random: () => number
}

type Present = Exclude<Value, null>

function truth(holds: boolean | undefined): Value {
  return holds === undefined ? null : holds ? 1n : 0n
}

/** The operators. */
export function operators(): SqlFunction[] {
  const list: SqlFunction[] = []
  const define: Define = (name, call) => {
    list.push({ name: `my_${name}`, deterministic: true, call })
  }
  defineComparisons(define)
  defineArithmetic(define)
  defineConversions(define)
  return list
}

/** Adds an operator to the list. */
type Define = (name: string, call: SqlFunction['call']) => void

function defineComparisons(define: Define): void {
  const comparison = (name: string, holds: (order: number) => boolean) =>
    define(name, ([left = null, right = null]) => {
      const order = compareValues(left, right)
      return order === undefined ? null : truth(holds(order))
    })

  comparison('eq', (order) => order === 0)
  comparison('ne', (order) => order !== 0)
  comparison('lt', (order) => order < 0)
  comparison('le', (order) => order <= 0)
  comparison('gt', (order) => order > 0)
  comparison('ge', (order) => order >= 0)
  define('same', ([left = null, right = null]) =>
    truth(left === null || right === null ? left === right : compareValues(left, right) === 0),
  )
  define('between', ([value = null, low = null, high = null]) => {
    const fromLow = compareValues(value, low)
    const toHigh = compareValues(value, high)
    if ((fromLow ?? 0) < 0 || (toHigh ?? 0) > 0) return 0n
    return fromLow === undefined || toHigh === undefined ? null : 1n
  })
  define('in', ([value = null, ...members]) => {
    let unknown = value === null
    for (const member of members) {
      const order = compareValues(value, member)
      if (order === 0) return 1n
      unknown ||= order === undefined
    }
    return unknown ? null : 0n
  })
  define('like', ([value = null, pattern = null, mark]) => {
    if (value === null || pattern === null) return null
    return truth(matchesLike(toText(value), toText(pattern), mark == null ? '\\' : toText(mark)))
  })
  define('regexp', ([value = null, pattern = null]) =>
    value === null || pattern === null ? null : truth(matchesPattern(toText(value), toText(pattern))),
  )
}

function defineArithmetic(define: Define): void {
  const arithmetic = (
    name: string,
    whole: ((left: bigint, right: bigint) => bigint | undefined) | undefined,
    double: (left: number, right: number) => number,
  ) =>
    define(name, ([left = null, right = null]) => {
      if (left === null || right === null) return null
      if (whole !== undefined && typeof left === 'bigint' && typeof right === 'bigint') {
        const value = whole(left, right)
        return value === undefined ? null : inRange(value)
      }
      const value = double(toNumber(left), toNumber(right))
      return Number.isFinite(value) ? value : null
    })

  arithmetic(
    'add',
    (left, right) => left + right,
    (left, right) => left + right,
  )
  arithmetic(
    'sub',
    (left, right) => left - right,
    (left, right) => left - right,
  )
  arithmetic(
    'mul',
    (left, right) => left * right,
    (left, right) => left * right,
  )
  arithmetic('quotient', undefined, (left, right) => left / right)
  arithmetic(
    'div',
    (left, right) => (right === 0n ? undefined : left / right),
    (left, right) => Math.trunc(left / right),
  )
  arithmetic(
    'mod',
    (left, right) => (right === 0n ? undefined : left % right),
    (left, right) => left % right,
  )
  define('neg', ([value = null]) => {
    if (value === null) return null
    return typeof value === 'bigint' ? inRange(-value) : -toNumber(value)
  })
  define('xor', ([left = null, right = null]) =>
    left === null || right === null ? null : truth(isTrue(left) !== isTrue(right)),
  )
  define('bitxor', ([left = null, right = null]) =>
    left === null || right === null ? null : wholeOf(left) ^ wholeOf(right),
  )
  define('not', ([value = null]) => (value === null ? null : truth(!isTrue(value))))
  define('true', ([value = null]) => (value === null ? null : truth(isTrue(value))))
}

function defineConversions(define: Define): void {
  define('binary', ([value = null]) => (value === null ? null : toBytes(value)))
  define('number', ([value = null]) => {
    if (value === null || typeof value === 'bigint') return value
    return toNumber(value)
  })
  define('text', ([value = null]) => (value === null || value instanceof Uint8Array ? value : toText(value)))
  define('tuple', (values) =>
    values.includes(null) ? null : JSON.stringify(values.map((value) => toText(value as Present))),
  )
  define('signed', ([value = null]) => (value === null ? null : castWhole(value)))
  define('unsigned', ([value = null]) => (value === null ? null : castWhole(value)))
  define('decimal', ([value = null, digits = null]) => {
    if (value === null) return null
    const places = digits === null ? 0 : Number(toNumber(digits))
    const rounded = roundTo(toNumber(value), places)
    return places === 0 && Number.isSafeInteger(rounded) ? BigInt(rounded) : rounded
  })
  define('double', ([value = null]) => (value === null ? null : toNumber(value)))
  define('char', ([value = null, length = null]) => {
    if (value === null) return null
    const text = toText(value)
    return length === null ? text : [...text].slice(0, Number(toNumber(length))).join('')
  })
}

/** Rounds half away from zero, at a decimal place. */
export function roundTo(value: number, places: number): number {
  const shown = Math.max(-20, Math.min(20, Math.trunc(places)))
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const scaled = Number(`${digits}e${Number(exponent) + shown}`)
  const rounded = Math.sign(scaled) * Math.round(Math.abs(scaled))
  const [roundedDigits = '0', roundedExponent = '0'] = rounded.toExponential().split('e')
  return Number(`${roundedDigits}e${Number(roundedExponent) - shown}`)
}

/** As whole number: texts are cut, other numbers rounded. */
export function castWhole(value: Present): bigint {
  if (typeof value === 'bigint') return value
  const number = typeof value === 'number' ? roundTo(value, 0) : Math.trunc(numberOfText(toText(value)))
  return Number.isFinite(number) ? BigInt.asIntN(64, BigInt(number)) : 0n
}

/** As whole number, rounded. */
export function wholeOf(value: Present): bigint {
  return typeof value === 'bigint' ? value : BigInt(Math.trunc(roundTo(toNumber(value), 0)) || 0)
}

function inRange(value: bigint): Value {
  return BigInt.asIntN(64, value) === value ? value : Number(value)
}

/** Refuses a text that is longer than a value may be. @throws StatementRefused */
export function bounded(text: string): string {
  if (text.length > valueBytes) throw new StatementRefused(tooLarge)
  return text
}
