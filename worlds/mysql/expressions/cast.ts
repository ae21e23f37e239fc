/**
 * CAST and CONVERT.
 *
 * Invariants
 * - A text is cut at its length, a decimal kept within its digits; a text that is no date becomes NULL.
 */

import { notSupported, refuse } from '../failure.ts'
import type { CastType, Expression } from '../syntax/syntax.ts'
import { castWhole, fittedDecimal, temporalOf } from '../values/conversion.ts'
import {
  binaryTextType,
  bytesType,
  decimalType,
  doubleType,
  integerType,
  type Type,
  temporalType,
  textType,
  unsignedType,
} from '../values/type.ts'
import { type Present, toBytes, toDecimal, toNumber, toText, type Value } from '../values/value.ts'
import { numericValue } from './arithmetic.ts'
import type { Compiled, Scope } from './scope.ts'

export function compileCast({ operand, to }: Extract<Expression, { kind: 'cast' }>, scope: Scope): Compiled {
  const inner = scope.compile(operand)
  const { type, convert } = conversionTo(to, inner.type)
  return {
    type,
    get: () => {
      const value = inner.get()
      return value === null ? null : convert(value)
    },
  }
}

interface Conversion {
  readonly type: Type
  readonly convert: (value: Present) => Value
}

function conversionTo({ name, length, scale }: CastType, from: Type): Conversion {
  switch (name) {
    case 'SIGNED':
      return { type: integerType, convert: (value) => castWhole(numberIn(value, from), false) }
    case 'UNSIGNED':
      return { type: unsignedType, convert: (value) => castWhole(numberIn(value, from), true) }
    case 'DOUBLE':
    case 'FLOAT':
      return { type: doubleType, convert: (value) => toNumber(numericValue(value, from)) }
    case 'DECIMAL': {
      const places = scale ?? 0
      const convert = (value: Present) =>
        fittedDecimal(toDecimal(numberIn(value, from)), length ?? 10, places)
      return { type: decimalType(places), convert }
    }
    case 'CHAR':
      return {
        type: from.binary ? binaryTextType : textType,
        convert: (value) => cut(toText(value, from), length),
      }
    case 'BINARY':
      return { type: bytesType, convert: (value) => bytesOf(value, from, length) }
    case 'DATE':
    case 'DATETIME':
    case 'TIME': {
      const kind = name === 'DATE' ? 'date' : name === 'TIME' ? 'time' : 'datetime'
      const type = temporalType(kind, length ?? 0)
      return { type, convert: (value) => temporalOf(value, type) }
    }
    default:
      return refuse(notSupported(`CAST … AS ${name}`))
  }
}

function numberIn(value: Present, from: Type): Present {
  return from.hexadecimal ? numericValue(value, from) : value
}

function cut(text: string, length: number | undefined): string {
  return length === undefined ? text : [...text].slice(0, length).join('')
}

/** A length that is not reached is filled with zeros. */
function bytesOf(value: Present, from: Type, length: number | undefined): Uint8Array {
  const bytes = value instanceof Uint8Array ? value : toBytes(toText(value, from))
  if (length === undefined) return bytes
  const sized = new Uint8Array(length)
  sized.set(bytes.subarray(0, length))
  return sized
}
