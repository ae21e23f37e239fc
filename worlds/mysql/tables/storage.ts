/**
 * Converts values to the type of the column that stores them.
 *
 * Invariants
 * - As outside of MySQL's strict mode: a number that does not fit becomes the nearest that does, a text is cut, a date
 *   that is none becomes the zero date. AgentBench's states were reached so.
 */

import type { ColumnType } from '../syntax/syntax.ts'
import { fittedDecimal, temporalOf } from '../values/conversion.ts'
import { Decimal } from '../values/decimal.ts'
import { Temporal } from '../values/temporal.ts'
import {
  bytesType,
  decimalType,
  doubleType,
  integerType,
  isTemporal,
  type Type,
  temporalType,
  textTypeIn,
  unsignedType,
} from '../values/type.ts'
import { type Present, toBytes, toDecimal, toNumber, toText, type Value } from '../values/value.ts'
import type { Column } from './catalog.ts'

const integerBits: Readonly<Record<string, number>> = {
  tinyint: 8,
  smallint: 16,
  mediumint: 24,
  int: 32,
  bigint: 64,
}
const textBytes: Readonly<Record<string, number>> = { tinytext: 255, text: 65_535, mediumtext: 16_777_215 }

export function typeOfColumn({ name, scale, length, unsigned, ...collation }: ColumnType): Type {
  if (Object.hasOwn(integerBits, name)) return unsigned ? unsignedType : integerType
  switch (name) {
    case 'year':
      return integerType
    case 'decimal':
      return decimalType(scale ?? 0)
    case 'double':
      return doubleType
    case 'float':
      return { ...doubleType, single: true }
    case 'date':
      return temporalType('date')
    case 'datetime':
    case 'timestamp':
      return temporalType('datetime', length ?? 0)
    case 'time':
      return temporalType('time', length ?? 0)
  }
  if (/blob$|binary$/.test(name)) return bytesType
  return textTypeIn(collation)
}

/** The value of a NOT NULL column without a default where none is given. */
export function implicitDefault({ type }: Column): Value {
  switch (type.kind) {
    case 'integer':
      return 0n
    case 'decimal':
      return new Decimal(0n, type.scale)
    case 'double':
      return 0
    case 'bytes':
      return new Uint8Array()
    case 'date':
    case 'datetime':
    case 'time':
      return new Temporal(type.kind, {})
    default:
      return ''
  }
}

/** @param from type of the expression that gave the value */
export function stored(value: Value, from: Type, column: Column): Value {
  if (value === null) return null
  const { declared, type } = column
  switch (type.kind) {
    case 'integer':
      return declared.name === 'year' ? storedYear(value) : storedInteger(value, declared)
    case 'decimal': {
      const fitted = fittedDecimal(toDecimal(value), declared.length ?? 10, declared.scale ?? 0)
      return declared.unsigned && fitted.units < 0n ? new Decimal(0n, fitted.scale) : fitted
    }
    case 'double': {
      const number = toNumber(value)
      const kept = declared.unsigned && number < 0 ? 0 : number
      return type.single ? Math.fround(kept) : kept
    }
    case 'date':
    case 'datetime':
    case 'time':
      return temporalOf(value, type) ?? new Temporal(type.kind, {})
    case 'bytes':
      return toBytes(value instanceof Uint8Array ? value : toText(value, from))
    default:
      // A number is stored with the places that it has, not with those that are shown.
      return storedText(toText(value, isTemporal(from) || from.single ? from : undefined), declared)
  }
}

function storedInteger(value: Present, { name, unsigned }: ColumnType): bigint {
  const whole = typeof value === 'bigint' ? value : toDecimal(value).whole()
  const bits = BigInt(integerBits[name] ?? 64)
  const [least, most] = unsigned ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
  return whole < least ? least : whole > most ? most : whole
}

function storedYear(value: Present): bigint {
  const year = Number(toDecimal(value).whole())
  const isText = typeof value === 'string'
  if (year === 0) return isText && value.length < 4 ? 2000n : 0n
  if (year > 0 && year < 70) return BigInt(year + 2000)
  if (year >= 70 && year < 100) return BigInt(year + 1900)
  return year < 1901 || year > 2155 ? 0n : BigInt(year)
}

function storedText(text: string, { name, length }: ColumnType): string {
  const bytes = textBytes[name]
  if (bytes !== undefined && text.length * 4 > bytes) return cutToBytes(text, bytes)
  const cut = length === undefined && name !== 'char' ? text : [...text].slice(0, length ?? 1).join('')
  return name === 'char' ? cut.replace(/ +$/, '') : cut
}

function cutToBytes(text: string, most: number): string {
  const bytes = Buffer.from(text)
  let end = Math.min(most, bytes.length)
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}

/** The column that an expression of a type becomes. */
export function derivedColumn(name: string, type: Type): Column {
  const declared = declaredOf(type)
  return { name, declared, type: typeOfColumn(declared), nullable: true, autoIncrement: false }
}

function declaredOf({ kind, scale, unsigned, binary, padded }: Type): ColumnType {
  const plain = { unsigned: unsigned ?? false, binary: binary ?? false, ...(padded ? { padded } : {}) }
  const sized = scale > 0 ? `(${scale})` : ''
  switch (kind) {
    case 'integer':
      return { ...plain, name: 'bigint', text: unsigned ? 'bigint unsigned' : 'bigint' }
    case 'decimal':
      return { ...plain, name: 'decimal', text: `decimal(65,${scale})`, length: 65, scale }
    case 'double':
      return { ...plain, name: 'double', text: 'double' }
    case 'bytes':
      return { ...plain, name: 'longblob', text: 'longblob' }
    case 'date':
      return { ...plain, name: 'date', text: 'date' }
    case 'datetime':
    case 'time':
      return { ...plain, name: kind, text: `${kind}${sized}`, length: scale }
    default:
      return { ...plain, name: 'longtext', text: 'longtext' }
  }
}
