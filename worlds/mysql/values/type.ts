/**
 * The types of expressions and columns, which decide how values are compared, computed and shown.
 *
 * Invariants
 * - An expression has one type, whatever its values are; a value of it is NULL or of that type's class.
 */
import type { TemporalKind } from './temporal.ts'

export interface Type {
  readonly kind: 'null' | 'integer' | 'decimal' | 'double' | 'text' | 'bytes' | TemporalKind
  /** Decimal places that are shown: of a decimal, or of a temporal's seconds. */
  readonly scale: number
  readonly unsigned?: true
  /** A double that is shown with its decimal places, as ROUND gives it. */
  readonly fixed?: true
  /** A decimal that is shown with the places that it has, as user variables are. */
  readonly natural?: true
  /** A text that compares by its letters' codes. */
  readonly binary?: true
  /** A text of a collation that does not count spaces at the end: all but those of MySQL 8 (`_0900_`). */
  readonly padded?: true
  /** A double of four bytes. */
  readonly single?: true
  /** Bytes that were written as digits: a number where one is asked for. */
  readonly hexadecimal?: true
  /** A text that is JSON: a string in it has quotation marks. */
  readonly json?: true
  /** Decimal places of the seconds in a text that is known before the statement runs. */
  readonly secondsScale?: number
}

export const nullType: Type = { kind: 'null', scale: 0 }
export const integerType: Type = { kind: 'integer', scale: 0 }
export const unsignedType: Type = { kind: 'integer', scale: 0, unsigned: true }
export const doubleType: Type = { kind: 'double', scale: 0 }
export const textType: Type = { kind: 'text', scale: 0 }
export const binaryTextType: Type = { kind: 'text', scale: 0, binary: true }
export const bytesType: Type = { kind: 'bytes', scale: 0 }

/** The type of a text by how it compares. */
export function textTypeIn({ binary, padded }: { binary?: boolean; padded?: boolean }): Type {
  return { ...(binary ? binaryTextType : textType), ...(padded ? { padded } : {}) }
}

export function decimalType(scale: number): Type {
  return { kind: 'decimal', scale: Math.min(scale, 30) }
}

/** A double that is shown with so many decimal places. */
export function fixedType(scale: number): Type {
  return scale > 30 ? doubleType : { kind: 'double', scale, fixed: true }
}

/** Decimal places that a number is shown with; undefined where they depend on the value. */
export function placesOf(type: Type): number | undefined {
  if (isExact(type) || isTemporal(type)) return type.scale
  return type.fixed ? type.scale : undefined
}

export function temporalType(kind: TemporalKind, scale = 0): Type {
  return { kind, scale: Math.min(scale, 6) }
}

export function isTemporal(type: Type): boolean {
  return type.kind === 'date' || type.kind === 'datetime' || type.kind === 'time'
}

export function isTextual(type: Type): boolean {
  return type.kind === 'text' || type.kind === 'bytes'
}

/** Whether it computes exactly: integers, decimals, and what NULL is taken for. */
export function isExact(type: Type): boolean {
  return type.kind === 'integer' || type.kind === 'decimal' || type.kind === 'null'
}

/** The type that arithmetic takes an operand for. */
export function numericType(type: Type): Type {
  if (isTemporal(type)) return type.scale > 0 ? decimalType(type.scale) : integerType
  if (type.hexadecimal) return unsignedType
  if (type.natural) return decimalType(type.scale)
  return isTextual(type) ? doubleType : type.kind === 'null' ? integerType : type
}

/** Decimal places of a temporal that an expression is turned into. */
export function secondsScaleOf(type: Type): number {
  if (isTextual(type)) return type.secondsScale ?? 6
  if (type.kind === 'double') return 6
  return Math.min(type.scale, 6)
}

/** The one type of several: of CASE, COALESCE, UNION. */
export function unifiedType(types: readonly Type[]): Type {
  const present = types.filter(({ kind }) => kind !== 'null')
  const [first] = present
  if (first === undefined) return nullType
  if (present.every(({ kind }) => kind === first.kind)) return unifiedAlike(present, first)
  if (present.some(isTextual)) {
    if (present.some(({ kind }) => kind === 'bytes')) return bytesType
    return unifiedText(present)
  }
  if (present.every(isTemporal))
    return temporalType('datetime', Math.max(...present.map(({ scale }) => scale)))
  if (present.some(isTemporal)) return textType
  if (present.some(({ kind }) => kind === 'double')) return unifiedDouble(present)
  return decimalType(Math.max(...present.map(({ scale }) => scale)))
}

function unifiedAlike(types: readonly Type[], first: Type): Type {
  if (first.kind === 'integer') {
    const unsigned = types.filter((type) => type.unsigned).length
    if (unsigned === 0) return integerType
    // No integer holds both a negative and the greatest unsigned number.
    return unsigned === types.length ? unsignedType : decimalType(0)
  }
  if (first.kind === 'double') return types.every(({ single }) => single) ? first : unifiedDouble(types)
  if (first.kind === 'text') return unifiedText(types)
  if (first.kind === 'bytes') return bytesType
  return { kind: first.kind, scale: Math.max(...types.map(({ scale }) => scale)) }
}

function unifiedText(types: readonly Type[]): Type {
  return textTypeIn({
    binary: types.some(({ binary }) => binary),
    padded: types.some(({ padded }) => padded),
  })
}

function unifiedDouble(types: readonly Type[]): Type {
  const places = types.map(placesOf)
  return places.includes(undefined) ? doubleType : fixedType(Math.max(...(places as number[])))
}
