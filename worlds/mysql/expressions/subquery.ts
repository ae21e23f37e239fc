/**
 * IN, ANY and ALL.
 *
 * Invariants
 * - A NULL among the members makes the answer unknown where none decides it.
 */

import { notSupported, refuse, wrongColumns } from '../failure.ts'
import type { Expression, Query } from '../syntax/syntax.ts'
import type { Row } from '../tables/catalog.ts'
import { integerType } from '../values/type.ts'
import { truth, type Value } from '../values/value.ts'
import { comparisonOf } from './comparison.ts'
import { type Subquery, subquery } from './nested-query.ts'
import { comparisonOfRows, isRow, membersOf } from './row-comparison.ts'
import type { Compiled, Scope } from './scope.ts'

export function compileIn(
  { value, members, negated }: Extract<Expression, { kind: 'in' }>,
  scope: Scope,
): Compiled {
  const tested = membersOf(value, scope)
  const found = isList(members)
    ? inList(value, tested, members, scope)
    : inRows(tested, subquery(unlimited(members), scope))
  return {
    type: integerType,
    get: () => {
      const holds = found()
      return holds === null ? null : truth(holds !== negated)
    },
  }
}

/** @throws StatementRefused for a LIMIT, which MySQL does not take here */
function unlimited(query: Query): Query {
  if (query.limit !== undefined) refuse(notSupported('LIMIT & IN/ALL/ANY/SOME subquery'))
  return query
}

function isList(members: readonly Expression[] | Query): members is readonly Expression[] {
  return Array.isArray(members)
}

function inList(
  value: Expression,
  tested: readonly Compiled[],
  members: readonly Expression[],
  scope: Scope,
): () => boolean | null {
  const comparisons = members.map((member) => {
    const compiled = membersOf(member, scope)
    if (compiled.length !== tested.length || (isRow(member) && !isRow(value)))
      refuse(wrongColumns(tested.length))
    return comparisonOfRows('=', tested, compiled)
  })
  return () => anyOf(comparisons)
}

function anyOf(comparisons: Iterable<Compiled>): boolean | null {
  let unknown = false
  for (const comparison of comparisons) {
    const holds = comparison.get()
    if (holds === 1n) return true
    unknown ||= holds === null
  }
  return unknown ? null : false
}

function inRows(tested: readonly Compiled[], { types, rows }: Subquery): () => boolean | null {
  if (types.length !== tested.length) refuse(wrongColumns(tested.length))
  let row: Row = []
  const columns = types.map((type, at) => ({ type, get: (): Value => row[at] ?? null }))
  const comparison = comparisonOfRows('=', tested, columns)
  return () => {
    let unknown = false
    for (const candidate of rows()) {
      row = candidate
      const holds = comparison.get()
      if (holds === 1n) return true
      unknown ||= holds === null
    }
    return unknown ? null : false
  }
}

export function compileQuantified(
  { operator, left, all, query }: Extract<Expression, { kind: 'quantified' }>,
  scope: Scope,
): Compiled {
  const tested = scope.compile(left)
  const { types, rows } = subquery(unlimited(query), scope)
  const [type, ...more] = types
  if (type === undefined || more.length > 0) return refuse(wrongColumns(1))
  let value: Value = null
  const comparison = comparisonOf(operator, tested, { type, get: () => value })
  return {
    type: integerType,
    get: () => {
      let unknown = false
      for (const row of rows()) {
        value = row[0] ?? null
        const holds = comparison.get()
        if (holds === null) unknown = true
        else if ((holds === 1n) !== all) return truth(!all)
      }
      return unknown ? null : truth(all)
    },
  }
}
