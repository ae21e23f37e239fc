/**
 * How two values of known types compare.
 *
 * Invariants
 * - Texts compare by the collation, bytes by bytes, a number with anything else as numbers.
 * - A temporal makes a temporal of the text that it is compared with.
 */
import { sqlFailure } from '../database.ts'
import { refuse } from '../failure.ts'
import { temporalOf } from '../values/conversion.ts'
import { Temporal, type TemporalKind } from '../values/temporal.ts'
import { integerType, isTemporal, isTextual, type Type, temporalType } from '../values/type.ts'
import {
  compareTexts,
  type Present,
  toBytes,
  toDecimal,
  toNumber,
  toText,
  truth,
  withoutPadding,
} from '../values/value.ts'
import type { Compiled } from './scope.ts'

/** Negative, 0 or positive; undefined where one is not comparable, which counts as NULL. */
export type Comparator = (left: Present, right: Present) => number | undefined

export function comparatorOf(left: Type, right: Type): Comparator {
  if (isTemporal(left) || isTemporal(right)) return temporalComparator(left, right)
  if (left.hexadecimal !== right.hexadecimal && (left.kind === 'integer' || right.kind === 'integer'))
    return (a, b) => difference(numberOf(a, left), numberOf(b, right))
  if (isTextual(left) && isTextual(right)) {
    if (left.kind === 'bytes' || right.kind === 'bytes')
      return (a, b) => Buffer.compare(toBytes(a), toBytes(b))
    const isBinary = left.binary || right.binary
    const compare = isBinary
      ? (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
      : compareTexts
    if (left.padded || right.padded)
      return (a, b) => compare(withoutPadding(textIn(a, left, right)), withoutPadding(textIn(b, right, left)))
    return (a, b) => compare(textIn(a, left, right), textIn(b, right, left))
  }
  if (left.kind === 'integer' && right.kind === 'integer') return (a, b) => (a < b ? -1 : a > b ? 1 : 0)
  const inexact = [left, right].some((type) => type.kind === 'double' || isTextual(type))
  if (inexact) return (a, b) => difference(numberOf(a, left), numberOf(b, right))
  return (a, b) => toDecimal(a).compare(toDecimal(b))
}

/** A string of JSON compares to a text without its quotation marks. */
function textIn(value: Present, type: Type, other: Type): string {
  const text = toText(value)
  return type.json && !other.json && text.startsWith('"') ? String(JSON.parse(text)) : text
}

function numberOf(value: Present, type: Type): number {
  if (type.hexadecimal && value instanceof Uint8Array) return Number(wholeOfBytes(value))
  return toNumber(value)
}

/** The number whose digits to base 256 bytes are. */
export function wholeOfBytes(bytes: Uint8Array): bigint {
  return BigInt.asUintN(64, BigInt(`0x0${Buffer.from(bytes).toString('hex')}`))
}

function difference(left: number, right: number): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function temporalComparator(left: Type, right: Type): Comparator {
  const temporals = [left, right].filter(isTemporal)
  const other = [left, right].find((type) => !isTemporal(type))
  if (other !== undefined && !isTextual(other) && other.kind !== 'null')
    return (a, b) => toDecimal(a).compare(toDecimal(b))
  const kinds = new Set(temporals.map(({ kind }) => kind as TemporalKind))
  const kind: TemporalKind = kinds.size === 1 && kinds.has('time') ? 'time' : 'datetime'
  const type = temporalType(kind, 6)
  // A text that is no date compares as the zero date.
  const zero = new Temporal(kind, {})
  return (a, b) => (temporalOf(a, type) ?? zero).compare(temporalOf(b, type) ?? zero)
}

/** Refuses a text that is known to be no date where it is compared with one. */
export function checkTemporal(left: Compiled, right: Compiled): void {
  for (const [one, other] of [
    [left, right],
    [right, left],
  ] as const) {
    const text = one.constant?.value
    if (!isTextual(one.type) || !isTemporal(other.type) || typeof text !== 'string') continue
    const kind = other.type.kind === 'time' ? 'time' : 'datetime'
    if (temporalOf(text, temporalType(kind, 6)) !== null) continue
    refuse(sqlFailure(1525, 'HY000', `Incorrect ${other.type.kind.toUpperCase()} value: '${text}'`))
  }
}

/** For ORDER BY and MIN: NULL comes first. */
export function orderOf(type: Type): (left: Present | null, right: Present | null) => number {
  const compare = comparatorOf(type, type)
  return (left, right) => {
    if (left === null || right === null) return left === right ? 0 : left === null ? -1 : 1
    return compare(left, right) ?? 0
  }
}

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<=>': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

export function isComparison(operator: string): boolean {
  return Object.hasOwn(comparisons, operator)
}

/** Whether an order of two values is the one that a comparison asks for. */
function holds(operator: string, order: number): boolean {
  return comparisons[operator]?.(order) ?? false
}

/** The comparison of two compiled operands. */
export function comparisonOf(operator: string, left: Compiled, right: Compiled): Compiled {
  checkTemporal(left, right)
  const compare = comparatorOf(left.type, right.type)
  const isNullSafe = operator === '<=>'
  return {
    type: integerType,
    get: () => {
      const [a, b] = [left.get(), right.get()]
      if (a === null || b === null) return isNullSafe ? truth(a === b) : null
      const order = compare(a, b)
      return order === undefined ? (isNullSafe ? 0n : null) : truth(holds(operator, order))
    },
  }
}
