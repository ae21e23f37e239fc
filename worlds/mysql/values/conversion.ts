/**
 * Turns values into those of another type: where an expression has one type for several operands, and for CAST.
 *
 * Invariants
 * - NULL stays NULL; a text that is no date or time becomes NULL.
 */
import { Decimal } from './decimal.ts'
import type { Temporal } from './temporal.ts'
import type { Type } from './type.ts'
import {
  type Present,
  toBytes,
  toDecimal,
  toMoment,
  toNumber,
  toText,
  toTime,
  toWhole,
  type Value,
} from './value.ts'

/** @param from type of the value: how it is written as text */
export function converted(value: Value, from: Type, to: Type): Value {
  if (value === null || (from.kind === to.kind && !isTemporalKind(to))) return value
  switch (to.kind) {
    case 'null':
      return value
    case 'integer':
      return toWhole(value)
    case 'decimal':
      return toDecimal(value)
    case 'double':
      return toNumber(value)
    case 'text':
      return toText(value, from)
    case 'bytes':
      return toBytes(typeof value === 'object' && value instanceof Uint8Array ? value : toText(value, from))
    default:
      return temporalOf(value, to)
  }
}

function isTemporalKind({ kind }: Type): boolean {
  return kind === 'date' || kind === 'datetime' || kind === 'time'
}

/** The temporal that a value is; NULL where it is none. */
export function temporalOf(value: Present, { kind, scale }: Type): Temporal | null {
  if (kind === 'time') return toTime(value)?.rounded(scale) ?? null
  const moment = toMoment(value)
  if (moment === undefined) return null
  if (kind === 'date') return moment.as('date')
  return moment.as('datetime').rounded(scale)
}

const wrapped = 1n << 64n

/** CAST … AS SIGNED and UNSIGNED, which wrap around. */
export function castWhole(value: Present, unsigned: boolean): bigint {
  if (unsigned && value instanceof Decimal && value.units < 0n) return 0n
  if (unsigned && (value instanceof Decimal || typeof value === 'number')) {
    const whole =
      typeof value === 'number' ? BigInt(Number.isFinite(value) ? Math.round(value) : 0) : value.whole()
    if (whole > (1n << 63n) - 1n) return whole >= wrapped ? wrapped - 1n : whole
  }
  const whole = toWhole(value)
  return unsigned ? BigInt.asUintN(64, whole) : BigInt.asIntN(64, whole)
}

/** A decimal that fits so many digits, the nearest one where it does not. */
export function fittedDecimal(value: Decimal, precision: number, scale: number): Decimal {
  const rounded = value.rounded(scale)
  const most = 10n ** BigInt(precision) - 1n
  if (rounded.units > most) return new Decimal(most, scale)
  return rounded.units < -most ? new Decimal(-most, scale) : rounded
}
