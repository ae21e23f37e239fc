/**
 * How functions are declared: what they take, what they give, and how they compute it.
 *
 * Invariants
 * - NULL in, NULL out, unless the function sees NULLs itself; an argument that is no date or time counts as NULL.
 */
import { numericValue } from '../expressions/arithmetic.ts'
import type { Compiled } from '../expressions/scope.ts'
import { refuse, wrongArguments } from '../failure.ts'
import type { Decimal } from '../values/decimal.ts'
import type { Type } from '../values/type.ts'
import {
  type Present,
  toBytes,
  toMoment,
  toNumber,
  toText,
  toTime,
  toWhole,
  type Value,
} from '../values/value.ts'

/** An integer or exact number, or a double. */
export type Numeric = bigint | number | Decimal

export interface FunctionRule {
  /** Kinds of the arguments: `text integer?` has an optional second, `text...` any number of more. */
  readonly takes: string
  readonly gives: Type | ((args: readonly Compiled[]) => Type)
  /** Whether NULL arguments reach the function. */
  readonly seesNull?: true
  readonly call: (...args: never[]) => Value
}

export type FunctionTable = Readonly<Record<string, FunctionRule>>

const safe = Number.MAX_SAFE_INTEGER

const readers: Readonly<Record<string, (value: Present, type: Type) => unknown>> = {
  any: (value) => value,
  text: toText,
  bytes: (value, type) => (value instanceof Uint8Array ? value : toBytes(toText(value, type))),
  number: numericValue,
  double: (value, type) => toNumber(numericValue(value, type)),
  whole: (value, type) => toWhole(numericOrSelf(value, type)),
  integer: (value, type) => {
    const whole = toWhole(numericOrSelf(value, type))
    return whole > BigInt(safe) ? safe : whole < BigInt(-safe) ? -safe : Number(whole)
  },
  moment: (value) => toMoment(value) ?? null,
  /** A date whose month and day are known. */
  day: (value) => {
    const moment = toMoment(value)
    return moment?.isWholeDate ? moment : null
  },
  time: (value) => toTime(value) ?? null,
}

function numericOrSelf(value: Present, type: Type): Present {
  return type.hexadecimal ? numericValue(value, type) : value
}

/** A call of a function. @throws StatementRefused where it takes another number of arguments */
export function calledBy(name: string, rule: FunctionRule, args: readonly Compiled[]): Compiled {
  const kinds = kindsOf(rule.takes, args.length)
  if (kinds === undefined) return refuse(wrongArguments(name))
  const reading = kinds.map((kind) => readers[kind] as (value: Present, type: Type) => unknown)
  const type = typeof rule.gives === 'function' ? rule.gives(args) : rule.gives
  const call = rule.call as (...given: unknown[]) => Value
  return {
    type,
    get: () => {
      const given: unknown[] = []
      for (const [at, arg] of args.entries()) {
        const value = arg.get()
        const read = value === null ? null : reading[at]?.(value, arg.type)
        if (read === null && rule.seesNull === undefined) return null
        given.push(read)
      }
      return call(...given)
    },
  }
}

function kindsOf(takes: string, count: number): readonly string[] | undefined {
  const words = takes === '' ? [] : takes.split(' ')
  const last = words.at(-1) ?? ''
  const required = words.filter((word) => !/[?.]$/.test(word)).length
  const repeats = last.endsWith('...')
  if (count < required || (!repeats && count > words.length)) return undefined
  return Array.from({ length: count }, (_, at) => (words[at] ?? last).replace(/[?.]+$/, ''))
}
