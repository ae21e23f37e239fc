/**
 * MySQL's operators.
 *
 * Invariants
 * - Integers and decimals compute exactly; a text makes a double of the result.
 * - A division by zero is NULL; a result beyond its type is refused.
 */

import { outOfRange, refuse } from '../failure.ts'
import type { Binary, Expression } from '../syntax/syntax.ts'
import { Decimal } from '../values/decimal.ts'
import {
  bytesType,
  decimalType,
  doubleType,
  fixedType,
  integerType,
  isExact,
  numericType,
  placesOf,
  type Type,
  unsignedType,
} from '../values/type.ts'
import {
  isTrue,
  type Present,
  toBytes,
  toDecimal,
  toNumber,
  toText,
  toWhole,
  truth,
  type Value,
} from '../values/value.ts'
import { isComparison, wholeOfBytes } from './comparison.ts'
import { compileComparison } from './row-comparison.ts'
import type { Compiled, Scope } from './scope.ts'

type Compute = (left: Present, right: Present) => Value

/** Compiles an operator with two operands. */
export function compileBinary(expression: Binary, scope: Scope): Compiled {
  const { operator } = expression
  if (operator === 'AND' || operator === 'OR' || operator === 'XOR') return compileLogical(expression, scope)
  if (isComparison(operator)) return compileComparison(expression, scope)
  const [left, right] = [scope.compile(expression.left), scope.compile(expression.right)]
  if (Object.hasOwn(bitwise, operator)) return compileBitwise(operator, left, right)
  const [leftType, rightType] = [numericType(left.type), numericType(right.type)]
  const type = resultType(operator, leftType, rightType)
  const compute = computation(operator, type, expression.text)
  return {
    type,
    get: () => {
      const a = left.get()
      if (a === null) return null
      const b = right.get()
      return b === null ? null : compute(numericValue(a, left.type), numericValue(b, right.type))
    },
  }
}

/** A value as a number of the type that arithmetic takes it for. */
export function numericValue(value: Present, type: Type): bigint | number | Decimal {
  if (type.hexadecimal && value instanceof Uint8Array) return wholeOfBytes(value)
  const numeric = numericType(type)
  if (numeric.kind === 'integer') return toWhole(value)
  return numeric.kind === 'decimal' ? toDecimal(value) : toNumber(value)
}

function resultType(operator: string, left: Type, right: Type): Type {
  if (operator === 'DIV') return left.unsigned || right.unsigned ? unsignedType : integerType
  if (!isExact(left) || !isExact(right)) return inexactType(operator, left, right)
  if (operator === '/') return decimalType(left.scale + 4)
  const unsigned = operator === '%' ? left.unsigned : left.unsigned || right.unsigned
  if (left.kind === 'integer' && right.kind === 'integer') return unsigned ? unsignedType : integerType
  return decimalType(operator === '*' ? left.scale + right.scale : Math.max(left.scale, right.scale))
}

function inexactType(operator: string, left: Type, right: Type): Type {
  const [a, b] = [placesOf(left), placesOf(right)]
  if (a === undefined || b === undefined) return doubleType
  return fixedType(Math.max(a, b) + (operator === '/' ? 4 : 0))
}

function computation(operator: string, type: Type, text: string): Compute {
  if (operator === 'DIV') return (a, b) => wholeQuotient(a, b, type, text)
  if (type.kind === 'double')
    return (a, b) => finite(doubles[operator]?.(toNumber(a), toNumber(b)) ?? null, text)
  if (operator === '/') return (a, b) => toDecimal(a).over(toDecimal(b), 4) ?? null
  if (type.kind === 'integer')
    return (a, b) => checked(integers[operator]?.(toWhole(a), toWhole(b)), type, text)
  return (a, b) => decimals[operator]?.(toDecimal(a), toDecimal(b)) ?? null
}

const integers: Readonly<Record<string, (left: bigint, right: bigint) => bigint | undefined>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '%': (left, right) => (right === 0n ? undefined : left % right),
}

const decimals: Readonly<Record<string, (left: Decimal, right: Decimal) => Decimal | undefined>> = {
  '+': (left, right) => left.plus(right),
  '-': (left, right) => left.plus(right.negated()),
  '*': (left, right) => left.times(right),
  '%': (left, right) => left.rest(right),
}

const doubles: Readonly<Record<string, (left: number, right: number) => number | null>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => (right === 0 ? null : left / right),
  '%': (left, right) => (right === 0 ? null : left % right),
}

function wholeQuotient(left: Present, right: Present, type: Type, text: string): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint')
    return right === 0n ? null : checked(left / right, type, text)
  const [a, b] = [toDecimal(left), toDecimal(right)]
  if (b.units === 0n) return null
  const scale = Math.max(a.scale, b.scale)
  return checked(a.rounded(scale).units / b.rounded(scale).units, type, text)
}

function finite(value: number | null, text: string): Value {
  if (value !== null && !Number.isFinite(value)) refuse(outOfRange('DOUBLE', text))
  return value
}

/** @throws StatementRefused where eight bytes do not hold the value */
export function checked(value: bigint | undefined, type: Type, text: string): Value {
  if (value === undefined) return null
  const fits = type.unsigned ? BigInt.asUintN(64, value) === value : BigInt.asIntN(64, value) === value
  if (!fits) refuse(outOfRange(type.unsigned ? 'BIGINT UNSIGNED' : 'BIGINT', text))
  return value
}

const bitwise: Readonly<Record<string, (left: bigint, right: bigint) => bigint>> = {
  '|': (left, right) => left | right,
  '&': (left, right) => left & right,
  '^': (left, right) => left ^ right,
  '<<': (left, right) => (right > 63n ? 0n : left << right),
  '>>': (left, right) => (right > 63n ? 0n : left >> right),
}

function compileBitwise(operator: string, left: Compiled, right: Compiled): Compiled {
  const compute = bitwise[operator] as (a: bigint, b: bigint) => bigint
  return {
    type: unsignedType,
    get: () => {
      const [a, b] = [left.get(), right.get()]
      if (a === null || b === null) return null
      return BigInt.asUintN(64, compute(bitsOf(a, left.type), bitsOf(b, right.type)))
    },
  }
}

/** 64 bits of a value, as MySQL's bit operators see it. */
export function bitsOf(value: Present, type: Type): bigint {
  if (type.hexadecimal && value instanceof Uint8Array) return wholeOfBytes(value)
  return BigInt.asUintN(64, toWhole(value))
}

function compileLogical({ operator, left, right }: Binary, scope: Scope): Compiled {
  const [first, second] = [scope.compile(left), scope.compile(right)]
  const known = (compiled: Compiled): boolean | null => {
    const value = compiled.get()
    return value === null ? null : isTrue(value)
  }
  if (operator === 'XOR')
    return {
      type: integerType,
      get: () => {
        const [a, b] = [known(first), known(second)]
        return a === null || b === null ? null : truth(a !== b)
      },
    }
  const deciding = operator === 'OR'
  return {
    type: integerType,
    get: () => {
      const a = known(first)
      if (a === deciding) return truth(deciding)
      const b = known(second)
      if (b === deciding) return truth(deciding)
      return a === null || b === null ? null : truth(!deciding)
    },
  }
}

/** Compiles an operator with one operand. */
export function compileUnary(
  { operator, operand }: Extract<Expression, { kind: 'unary' }>,
  scope: Scope,
): Compiled {
  const inner = scope.compile(operand)
  const numeric = numericType(inner.type)
  const unary = (type: Type, compute: (value: Present) => Value): Compiled => ({
    type,
    get: () => {
      const value = inner.get()
      return value === null ? null : compute(value)
    },
  })
  switch (operator) {
    case 'NOT':
      return unary(integerType, (value) => truth(!isTrue(value)))
    case '~':
      return unary(unsignedType, (value) => BigInt.asUintN(64, ~bitsOf(value, inner.type)))
    case 'BINARY':
      return unary(bytesType, (value) =>
        toBytes(value instanceof Uint8Array ? value : toText(value, inner.type)),
      )
    case '-': {
      const isUnsigned = numeric.unsigned === true
      const type = numeric.kind !== 'integer' ? numeric : isUnsigned ? decimalType(0) : integerType
      return unary(type, (value) => negated(numericValue(value, inner.type), type))
    }
  }
}

function negated(value: bigint | number | Decimal, type: Type): Value {
  if (typeof value === 'bigint') {
    return type.kind === 'decimal' ? new Decimal(-value, 0) : checked(-value, type, `-(${value})`)
  }
  return value instanceof Decimal ? value.negated() : -value
}
