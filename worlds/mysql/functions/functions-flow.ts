/**
 * MySQL's functions that choose among their arguments.
 *
 * Invariants
 * - An argument that is not chosen is not evaluated where MySQL does not evaluate it.
 * - The result has the one type of all that could be chosen.
 */
import { comparatorOf, comparisonOf } from '../expressions/comparison.ts'
import { type Compiled, conditionOf } from '../expressions/scope.ts'
import { refuse, wrongArguments } from '../failure.ts'
import { converted } from '../values/conversion.ts'
import { doubleType, integerType, isTextual, type Type, unifiedType } from '../values/type.ts'
import { truth, type Value } from '../values/value.ts'

type Flow = (args: readonly Compiled[], name: string) => Compiled

function of(args: readonly Compiled[], count: number, name: string): readonly Compiled[] {
  if (args.length !== count) refuse(wrongArguments(name))
  return args
}

function as(arg: Compiled, type: Type): Value {
  return converted(arg.get(), arg.type, type)
}

function choice(args: readonly Compiled[], name: string): Compiled {
  const [condition, then, otherwise] = of(args, 3, name) as [Compiled, Compiled, Compiled]
  const holds = conditionOf(condition)
  const type = unifiedType([then.type, otherwise.type])
  return { type, get: () => as(holds() ? then : otherwise, type) }
}

function coalesce(args: readonly Compiled[], name: string): Compiled {
  if (args.length === 0) refuse(wrongArguments(name))
  const type = unifiedType(args.map((arg) => arg.type))
  return {
    type,
    get: () => {
      for (const arg of args) {
        const value = as(arg, type)
        if (value !== null) return value
      }
      return null
    },
  }
}

function nullIf(args: readonly Compiled[], name: string): Compiled {
  const [first, second] = of(args, 2, name) as [Compiled, Compiled]
  const equal = comparisonOf('=', first, second)
  return { type: first.type, get: () => (equal.get() === 1n ? null : first.get()) }
}

/** GREATEST and LEAST. */
function extreme(sign: 1 | -1): Flow {
  return (args, name) => {
    if (args.length < 2) refuse(wrongArguments(name))
    const types = args.map((arg) => arg.type)
    const type = unifiedType(types)
    const compared = comparedType(types, type)
    const compare = comparatorOf(compared, compared)
    return {
      type,
      get: () => {
        let best: Value = null
        for (const arg of args) {
          const value = as(arg, type)
          if (value === null) return null
          if (best === null || sign * (compare(value, best) ?? 0) > 0) best = value
        }
        return best
      },
    }
  }
}

function comparedType(types: readonly Type[], type: Type): Type {
  return isTextual(type) && types.some(({ binary }) => binary) ? { ...type, binary: true } : type
}

/** FIELD: the place of a value among others; numbers and texts together are compared as numbers. */
function field(args: readonly Compiled[], name: string): Compiled {
  const [wanted, ...members] = args
  if (wanted === undefined || members.length === 0) return refuse(wrongArguments(name))
  const allText = args.every(({ type }) => isTextual(type) || type.kind === 'null')
  const type = allText ? unifiedType(args.map((arg) => arg.type)) : doubleType
  const compare = comparatorOf(type, type)
  return {
    type: integerType,
    get: () => {
      const value = as(wanted, type)
      if (value === null) return 0n
      const at = members.findIndex((member) => {
        const other = as(member, type)
        return other !== null && compare(value, other) === 0
      })
      return BigInt(at + 1)
    },
  }
}

export const flowFunctions: Readonly<Record<string, Flow>> = {
  IF: choice,
  IFNULL: (args, name) => coalesce(of(args, 2, name), name),
  COALESCE: coalesce,
  NULLIF: nullIf,
  GREATEST: extreme(1),
  LEAST: extreme(-1),
  FIELD: field,
  ISNULL: (args, name) => {
    const [arg] = of(args, 1, name)
    return { type: integerType, get: () => truth((arg?.get() ?? null) === null) }
  },
}
