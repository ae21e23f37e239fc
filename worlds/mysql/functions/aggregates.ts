/**
 * MySQL's aggregate functions.
 *
 * Invariants
 * - NULLs do not count; an aggregate of nothing is NULL, a count of nothing 0.
 * - Exact numbers add up exactly, others as doubles.
 * - A row with a NULL among its values is left out; the result has at most MySQL's 1,024 bytes.
 */
import { numericValue } from '../expressions/arithmetic.ts'
import { orderOf } from '../expressions/comparison.ts'
import type { Compiled } from '../expressions/scope.ts'
import { refuse, wrongArguments } from '../failure.ts'
import { groupConcatBytes } from '../state-hash.ts'
import type { Call } from '../syntax/syntax.ts'
import { Decimal } from '../values/decimal.ts'
import {
  decimalType,
  doubleType,
  fixedType,
  integerType,
  isExact,
  numericType,
  type Type,
  textType,
  unsignedType,
} from '../values/type.ts'
import { type Present, toDecimal, toNumber, toText, toWhole, type Value } from '../values/value.ts'

interface AggregateRule {
  /** Number of arguments; undefined for any number. */
  readonly takes?: number
  readonly gives: (types: readonly Type[]) => Type
  readonly start: (types: readonly Type[], call: Call) => Accumulator
}

/** The state of an aggregate over the rows so far. */
export interface Accumulator {
  add(values: readonly Value[]): void
  result(): Value
}

interface Member {
  readonly text: string
  readonly keys: readonly Value[]
}

/** Folds the values that are not NULL. */
function folded(step: (sum: Value, value: Present) => Value, initial: Value = null): Accumulator {
  let sum = initial
  return {
    add: ([value = null]) => {
      if (value !== null) sum = step(sum, value)
    },
    result: () => sum,
  }
}

function first(types: readonly Type[]): Type {
  return types[0] ?? integerType
}

function sumType(types: readonly Type[]): Type {
  const type = numericType(first(types))
  return isExact(type) ? decimalType(type.scale) : type.fixed ? fixedType(type.scale) : doubleType
}

function sum(types: readonly Type[]): Accumulator {
  const type = first(types)
  if (sumType(types).kind === 'double')
    return folded((total, value) => ((total as number | null) ?? 0) + toNumber(numericValue(value, type)))
  const zero = new Decimal(0n, 0)
  return folded((total, value) =>
    ((total as Decimal | null) ?? zero).plus(toDecimal(numericValue(value, type))),
  )
}

function average(types: readonly Type[]): Accumulator {
  const total = sum(types)
  let count = 0n
  return {
    add: (values) => {
      if (values[0] !== null) count++
      total.add(values)
    },
    result: () => {
      const value = total.result()
      if (value === null) return null
      if (value instanceof Decimal) return value.over(new Decimal(count, 0), 4) ?? null
      return (value as number) / Number(count)
    },
  }
}

function averageType(types: readonly Type[]): Type {
  const type = sumType(types)
  if (type.kind === 'decimal') return decimalType(type.scale + 4)
  return type.fixed ? fixedType(type.scale + 4) : doubleType
}

function extreme(sign: 1 | -1): AggregateRule['start'] {
  return (types) => {
    const compare = orderOf(first(types))
    return folded((best, value) =>
      best === null || sign * compare(value, best as Present) > 0 ? value : best,
    )
  }
}

/** Variance by Welford's recurrence. @param sample divided by one less; @param root its square root */
function variance(sample: boolean, root: boolean): AggregateRule {
  return {
    takes: 1,
    gives: () => doubleType,
    start: (types) => {
      let [count, mean, squares] = [0, 0, 0]
      return {
        add: ([value = null]) => {
          if (value === null) return
          const number = toNumber(numericValue(value, first(types)))
          count++
          const before = mean
          mean += (number - mean) / count
          squares += (number - before) * (number - mean)
        },
        result: () => {
          const divisor = sample ? count - 1 : count
          if (divisor <= 0) return null
          return root ? Math.sqrt(squares / divisor) : squares / divisor
        },
      }
    },
  }
}

function bits(initial: bigint, join: (left: bigint, right: bigint) => bigint): AggregateRule {
  return {
    takes: 1,
    gives: () => unsignedType,
    start: () => folded((total, value) => join(total as bigint, BigInt.asUintN(64, toWhole(value))), initial),
  }
}

const counting: AggregateRule = {
  gives: () => integerType,
  start: () => {
    let count = 0n
    return {
      add: (values) => {
        if (values.every((value) => value !== null)) count++
      },
      result: () => count,
    }
  },
}

const population = variance(false, false)
const deviation = variance(false, true)

const rules: Readonly<Record<string, AggregateRule>> = {
  COUNT: counting,
  SUM: { takes: 1, gives: sumType, start: sum },
  AVG: { takes: 1, gives: averageType, start: average },
  MIN: { takes: 1, gives: first, start: extreme(-1) },
  MAX: { takes: 1, gives: first, start: extreme(1) },
  ANY_VALUE: { takes: 1, gives: first, start: anyValue },
  ...{ VAR_POP: population, VARIANCE: population, STD: deviation, STDDEV: deviation, STDDEV_POP: deviation },
  ...{ VAR_SAMP: variance(true, false), STDDEV_SAMP: variance(true, true) },
  BIT_AND: bits((1n << 64n) - 1n, (left, right) => left & right),
  BIT_OR: bits(0n, (left, right) => left | right),
  BIT_XOR: bits(0n, (left, right) => left ^ right),
  GROUP_CONCAT: { gives: () => textType, start: (types, call) => foldedConcat(types, call) },
}

/** The group's first value, NULL or not. */
function anyValue(): Accumulator {
  let value: Value | undefined
  return {
    add: ([given = null]) => {
      value ??= given
    },
    result: () => value ?? null,
  }
}

export function isAggregate(name: string): boolean {
  return Object.hasOwn(rules, name)
}

/** An aggregate of compiled arguments. */
export interface Aggregate {
  readonly type: Type
  start(): Accumulator
}

/** The arguments of a call. SUM and AVG of DISTINCT tell values apart by their numbers: '1' and '1.0' count once. */
export function aggregateArguments(
  { name, distinct = false }: Call,
  args: readonly Compiled[],
): readonly Compiled[] {
  if (!distinct || (name !== 'SUM' && name !== 'AVG')) return args
  return args.map(({ type, get }) => ({
    type: numericType(type),
    get: () => {
      const value = get()
      return value === null ? null : numericValue(value, type)
    },
  }))
}

/** @throws StatementRefused where the arguments are too few or too many */
export function aggregateOf(call: Call, args: readonly Compiled[]): Aggregate {
  const rule = rules[call.name] as AggregateRule
  const count = call.star ? 0 : args.length
  if (call.star ? call.name !== 'COUNT' : count === 0 || (rule.takes !== undefined && count !== rule.takes))
    refuse(wrongArguments(call.name))
  const types = args.map(({ type }) => type)
  return { type: rule.gives(types), start: () => rule.start(types, call) }
}

/** @param types of the values, and behind them of the keys to order by */
function foldedConcat(types: readonly Type[], call: Call): Accumulator {
  const terms = call.order ?? []
  const valueCount = types.length - terms.length
  const orders = terms.map(({ descending }, at) => ({
    compare: orderOf(types[valueCount + at] as Type),
    sign: descending ? -1 : 1,
  }))
  const members: Member[] = []
  return {
    add: (given) => {
      const values = given.slice(0, valueCount)
      if (values.includes(null)) return
      const text = values.map((value, at) => (value === null ? '' : toText(value, types[at]))).join('')
      members.push({ text, keys: given.slice(valueCount) })
    },
    result: () => {
      if (members.length === 0) return null
      const sorted = members.toSorted((left, right) => {
        for (const [at, { compare, sign }] of orders.entries()) {
          const order = sign * compare(left.keys[at] ?? null, right.keys[at] ?? null)
          if (order !== 0) return order
        }
        return 0
      })
      return cut(sorted.map(({ text }) => text).join(call.separator ?? ','))
    },
  }
}

/** Cut at the limit, between two characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= groupConcatBytes) return text
  let end = groupConcatBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}
