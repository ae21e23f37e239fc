/**
 * Comparison of rows: `(a, b) = (1, 2)`.
 *
 * Invariants
 * - Rows of different lengths are refused.
 */

import { refuse, wrongColumns } from '../failure.ts'
import type { Binary, Expression } from '../syntax/syntax.ts'
import { integerType } from '../values/type.ts'
import { truth, type Value } from '../values/value.ts'
import { comparisonOf } from './comparison.ts'
import { rowOfQuery } from './nested-query.ts'
import type { Compiled, Scope } from './scope.ts'

export function isRow(expression: Expression): boolean {
  return expression.kind === 'row'
}

/** Compiles a comparison of two operands, or of two rows. */
export function compileComparison(expression: Binary, scope: Scope): Compiled {
  if (isRow(expression.left) || isRow(expression.right)) return compileRowComparison(expression, scope)
  return comparisonOf(expression.operator, scope.compile(expression.left), scope.compile(expression.right))
}

/** The members of a row, or of a query's one row. */
export function membersOf(expression: Expression, scope: Scope): readonly Compiled[] {
  if (expression.kind === 'row') return expression.members.map((member) => scope.compile(member))
  if (expression.kind === 'query') return rowOfQuery(expression.query, scope)
  return [scope.compile(expression)]
}

function compileRowComparison({ operator, left, right }: Binary, scope: Scope): Compiled {
  const [first, second] = [membersOf(left, scope), membersOf(right, scope)]
  if (first.length !== second.length) refuse(wrongColumns(first.length))
  return comparisonOfRows(operator, first, second)
}

export function comparisonOfRows(
  operator: string,
  first: readonly Compiled[],
  second: readonly Compiled[],
): Compiled {
  const pairs = (sign: string) =>
    first.map((member, at) => comparisonOf(sign, member, second[at] as Compiled))
  if (operator === '=' || operator === '<=>') return { type: integerType, get: () => all(pairs(operator)) }
  if (operator === '<>') {
    const equal = pairs('=')
    return { type: integerType, get: () => negated(all(equal)) }
  }
  const [equal, strict, last] = [pairs('='), pairs(operator.slice(0, 1)), pairs(operator)]
  return {
    type: integerType,
    get: () => {
      for (let at = 0; at < first.length - 1; at++) {
        const same = equal[at]?.get() ?? null
        if (same === null) return null
        if (same === 0n) return strict[at]?.get() ?? null
      }
      return last.at(-1)?.get() ?? null
    },
  }
}

function all(comparisons: readonly Compiled[]): Value {
  let unknown = false
  for (const comparison of comparisons) {
    const value = comparison.get()
    if (value === 0n) return 0n
    unknown ||= value === null
  }
  return unknown ? null : 1n
}

function negated(value: Value): Value {
  return value === null ? null : truth(value === 0n)
}
