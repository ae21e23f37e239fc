/**
 * Literals: numbers, texts, bytes and moments as they are written.
 *
 * Invariants
 * - A literal has the type that MySQL gives it: 1 is an integer, 1.0 a decimal, 1e0 a double.
 */
import { sqlFailure } from '../database.ts'
import { refuse } from '../failure.ts'
import { Decimal } from '../values/decimal.ts'
import type { Temporal } from '../values/temporal.ts'
import { parseMoment, parseTime } from '../values/temporal-text.ts'
import * as types from '../values/type.ts'
import type { Expression } from './syntax.ts'

export function literal(
  value: bigint | number | string | Decimal | Temporal | null,
  type: types.Type,
): Expression {
  return { kind: 'literal', value, type }
}

export function literalOfText(text: string): Expression {
  return literal(text, { ...types.textType, secondsScale: fractionOf(text) })
}

/** Decimal places of the seconds in a text. */
function fractionOf(text: string): number {
  return Math.min(6, /\d\.(\d+)\s*$/.exec(text)?.[1]?.length ?? 0)
}

const greatestUnsigned = (1n << 64n) - 1n

export function literalOfNumeral(text: string): Expression {
  if (/e/i.test(text)) return literal(Number(text), types.doubleType)
  if (text.includes('.')) {
    const value = Decimal.parse(text)
    return literal(value, types.decimalType(value.scale))
  }
  const whole = BigInt(text)
  if (whole > greatestUnsigned) return literal(new Decimal(whole, 0), types.decimalType(0))
  return literal(whole, whole < 1n << 63n ? types.integerType : types.unsignedType)
}

export function literalOfBytes(digits: string): Expression {
  const value = new Uint8Array(Buffer.from(digits, 'hex'))
  return { kind: 'literal', value, type: { ...types.bytesType, hexadecimal: true } }
}

/** `DATE '2020-01-05'`. */
export function literalOfMoment(word: string, text: string): Expression {
  const kind = word === 'TIMESTAMP' ? 'datetime' : word === 'DATE' ? 'date' : 'time'
  const value = kind === 'time' ? parseTime(text) : parseMoment(text)?.as(kind)
  if (value === undefined) {
    const name = word === 'TIMESTAMP' ? 'DATETIME' : word
    return refuse(sqlFailure(1525, 'HY000', `Incorrect ${name} value: '${text}'`))
  }
  return literal(value, types.temporalType(kind, kind === 'date' ? 0 : fractionOf(text)))
}
