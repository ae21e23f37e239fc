/**
 * Queries within expressions.
 *
 * Invariants
 * - A query that reads nothing of the outer row is run once for the whole statement.
 */

import { moreRows, refuse, wrongColumns } from '../failure.ts'
import type { Query } from '../syntax/syntax.ts'
import type { Row } from '../tables/catalog.ts'
import { integerType, type Type } from '../values/type.ts'
import { truth } from '../values/value.ts'
import type { Compiled, CompiledQuery, Scope } from './scope.ts'

export interface Subquery {
  readonly types: readonly Type[]
  readonly rows: () => readonly Row[]
}

export function subquery(query: Query, scope: Scope): Subquery {
  const compiled: CompiledQuery = scope.context.query(query, scope)
  let kept: readonly Row[] | undefined
  return {
    types: compiled.columns.map(({ type }) => type),
    rows: () => {
      if (compiled.correlated()) return compiled.run()
      kept ??= compiled.run()
      return kept
    },
  }
}

function oneRow({ rows }: Subquery): Row | undefined {
  const found = rows()
  if (found.length > 1) refuse(moreRows)
  return found[0]
}

export function compileScalarQuery({ query }: { readonly query: Query }, scope: Scope): Compiled {
  const inner = subquery(query, scope)
  const [type, ...more] = inner.types
  if (type === undefined || more.length > 0) return refuse(wrongColumns(1))
  return { type, get: () => oneRow(inner)?.[0] ?? null }
}

/** The columns of a query's one row. */
export function rowOfQuery(query: Query, scope: Scope): readonly Compiled[] {
  const inner = subquery(query, scope)
  return inner.types.map((type, at) => ({ type, get: () => oneRow(inner)?.[at] ?? null }))
}

export function compileExists({ query }: { readonly query: Query }, scope: Scope): Compiled {
  const { rows } = subquery(query, scope)
  return { type: integerType, get: () => truth(rows().length > 0) }
}
