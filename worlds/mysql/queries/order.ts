/**
 * ORDER BY, DISTINCT and LIMIT over rows that are there.
 *
 * Invariants
 * - NULL comes first; rows that are equal keep their order.
 */

import { orderOf } from '../expressions/comparison.ts'
import type { Compiled } from '../expressions/scope.ts'
import type { Limit } from '../syntax/syntax.ts'
import type { Row } from '../tables/catalog.ts'
import type { Type } from '../values/type.ts'
import { keyOf, type Value } from '../values/value.ts'

export interface OrderKey {
  readonly compiled: Compiled
  readonly descending: boolean
}

/** A row of a result, with the values that it is ordered by. */
export interface Keyed {
  readonly row: Row
  readonly keys: readonly Value[]
}

export function comparatorOfKeys(
  order: readonly OrderKey[],
): (left: readonly Value[], right: readonly Value[]) => number {
  const orders = order.map(({ compiled, descending }) => ({
    compare: orderOf(compiled.type),
    sign: descending ? -1 : 1,
  }))
  return (left, right) => {
    for (const [at, { compare, sign }] of orders.entries()) {
      const found = sign * compare(left[at] ?? null, right[at] ?? null)
      if (found !== 0) return found
    }
    return 0
  }
}

export function sorted(rows: readonly Keyed[], order: readonly OrderKey[]): readonly Keyed[] {
  if (order.length === 0) return rows
  const compare = comparatorOfKeys(order)
  return rows.toSorted((left, right) => compare(left.keys, right.keys))
}

/** The same for equal rows. */
export function rowKey(row: readonly Value[], types: readonly Type[]): string {
  return row.map((value, at) => keyOf(value, types[at] as Type)).join('\u0000')
}

export interface Bounds {
  readonly offset: number
  readonly count: number
}

export function boundsOf(limit: Limit | undefined): Bounds {
  return { offset: countOf(limit?.offset, 0), count: countOf(limit?.count, Number.POSITIVE_INFINITY) }
}

function countOf(expression: Limit['offset'], otherwise: number): number {
  return expression?.kind === 'literal' ? Number(expression.value) : otherwise
}

export function limited<T>(rows: readonly T[], { offset, count }: Bounds): readonly T[] {
  return offset === 0 && count >= rows.length ? rows : rows.slice(offset, offset + count)
}
