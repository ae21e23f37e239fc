/**
 * Compiles queries: common tables, UNION and its kin, VALUES, and what orders and limits them.
 *
 * Invariants
 * - A recursive table that still grows after MySQL's number of rounds is refused.
 */

import { recursionRounds } from '../budget.ts'
import { sqlFailure } from '../database.ts'
import { type CommonTableSource, type CompiledQuery, Scope, type SourceColumn } from '../expressions/scope.ts'
import { columnCount, differentColumns, refuse, unknownColumn } from '../failure.ts'
import type { CommonTable, Limit, OrderTerm, Query, QueryBody } from '../syntax/syntax.ts'
import type { Row } from '../tables/catalog.ts'
import { converted } from '../values/conversion.ts'
import { type Type, unifiedType } from '../values/type.ts'
import { renamed } from './from.ts'
import { boundsOf, limited, type OrderKey, rowKey, sorted } from './order.ts'
import { compileSelect } from './select.ts'

/** @throws StatementRefused where a name is unknown or the parts do not fit */
export function compileQuery(query: Query, outer: Scope): CompiledQuery {
  const commonTables = new Map(outer.commonTables)
  const scope = new Scope({ context: outer.context, outer, commonTables })
  for (const table of query.with)
    commonTables.set(table.name.toLowerCase(), commonSource(table, query.recursive, scope))
  const { order, limit } = query
  const compiled =
    query.body.kind === 'select'
      ? compileSelect(query.body, { order, limit }, scope)
      : ordered(bodyOf(query.body, scope), order, limit, scope)
  return { ...compiled, correlated: () => scope.readsOuter }
}

function bodyOf(body: QueryBody, scope: Scope): CompiledQuery {
  switch (body.kind) {
    case 'select':
      return compileSelect(body, { order: [] }, scope)
    case 'nested':
      return compileQuery(body.query, scope)
    case 'values':
      return compileValues(body.rows, scope)
    case 'union':
      return compileUnion(body, scope)
  }
}

function compileValues(rows: Extract<QueryBody, { kind: 'values' }>['rows'], scope: Scope): CompiledQuery {
  const compiled = rows.map((row) => row.map((value) => scope.compile(value)))
  const width = compiled[0]?.length ?? 0
  const other = compiled.findIndex((row) => row.length !== width)
  if (other >= 0) refuse(columnCount(other + 1))
  const columns = Array.from({ length: width }, (_, at) => ({
    name: `column_${at}`,
    type: unifiedType(compiled.flatMap((row) => row[at]?.type ?? [])),
  }))
  const run = () =>
    compiled.map((row) =>
      row.map((value, at) => converted(value.get(), value.type, columns[at]?.type as Type)),
    )
  return { columns, correlated: () => false, run }
}

function compileUnion(body: Extract<QueryBody, { kind: 'union' }>, scope: Scope): CompiledQuery {
  const [left, right] = [bodyOf(body.left, scope), bodyOf(body.right, scope)]
  if (left.columns.length !== right.columns.length) refuse(differentColumns)
  const columns = left.columns.map(({ name, type }, at) => ({
    name,
    type: unifiedType([type, right.columns[at]?.type as Type]),
  }))
  const run = () => {
    const rows = [left, right].map((part) => converting(part, columns))
    return combined(
      body.operator,
      body.all,
      rows[0] ?? [],
      rows[1] ?? [],
      columns.map(({ type }) => type),
    )
  }
  return { columns, correlated: () => false, run }
}

function converting({ columns: from, run }: CompiledQuery, to: readonly SourceColumn[]): readonly Row[] {
  return run().map((row) =>
    row.map((value, at) => converted(value, from[at]?.type as Type, to[at]?.type as Type)),
  )
}

function combined(
  operator: 'UNION' | 'EXCEPT' | 'INTERSECT',
  all: boolean,
  left: readonly Row[],
  right: readonly Row[],
  types: readonly Type[],
): readonly Row[] {
  if (operator === 'UNION') return all ? [...left, ...right] : distinct([...left, ...right], types)
  const counts = new Map<string, number>()
  for (const row of right) counts.set(rowKey(row, types), (counts.get(rowKey(row, types)) ?? 0) + 1)
  const kept = (all ? left : distinct(left, types)).filter((row) => {
    const key = rowKey(row, types)
    const count = counts.get(key) ?? 0
    if (all && count > 0) counts.set(key, count - 1)
    return count > 0 === (operator === 'INTERSECT')
  })
  return kept
}

function distinct(rows: readonly Row[], types: readonly Type[]): readonly Row[] {
  const seen = new Set<string>()
  return rows.filter((row) => {
    const key = rowKey(row, types)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** Orders and limits rows that have no tables any more. */
function ordered(
  query: CompiledQuery,
  order: readonly OrderTerm[],
  limit: Limit | undefined,
  outer: Scope,
): CompiledQuery {
  if (order.length === 0 && limit === undefined) return query
  const scope = new Scope({ context: outer.context, outer })
  const source = { alias: '', columns: query.columns, row: null as Row | null }
  scope.sources = [source]
  scope.visible = query.columns.map((column, at) => ({
    ...column,
    sources: [source],
    compiled: scope.at(source, at),
  }))
  const keys: OrderKey[] = scope.within('order clause', () =>
    order.map(({ expression, descending }) => {
      if (expression.kind !== 'literal' || typeof expression.value !== 'bigint')
        return { compiled: scope.compile(expression), descending }
      const place = Number(expression.value) - 1
      if (place < 0 || place >= query.columns.length)
        refuse(unknownColumn(String(expression.value), 'order clause'))
      return { compiled: scope.at(source, place), descending }
    }),
  )
  const run = () => {
    const rows = query.run().map((row) => {
      source.row = row
      return { row, keys: keys.map(({ compiled }) => compiled.get()) }
    })
    return limited(sorted(rows, keys), boundsOf(limit)).map(({ row }) => row)
  }
  return { ...query, run }
}

function commonSource(table: CommonTable, recursive: boolean, scope: Scope): CommonTableSource {
  const parts = recursive ? recursiveParts(table) : undefined
  let kept: readonly Row[] | undefined
  return {
    source: () => {
      const query =
        parts === undefined ? compileQuery(table.query, scope) : compileRecursive(table, parts, scope)
      const run = () => {
        if (query.correlated()) return query.run()
        kept ??= query.run()
        return kept
      }
      return { ...query, columns: renamed(query.columns, table.columns), run }
    },
  }
}

interface RecursiveParts {
  readonly start: QueryBody
  readonly step: QueryBody
  readonly all: boolean
}

/** The two sides of a UNION whose right one reads the table itself. */
function recursiveParts({ name, query }: CommonTable): RecursiveParts | undefined {
  const { body } = query
  if (!mentions(body, name)) return undefined
  if (body.kind !== 'union' || body.operator !== 'UNION' || mentions(body.left, name))
    return refuse(
      sqlFailure(3573, 'HY000', `Recursive Common Table Expression '${name}' should contain a UNION`),
    )
  return { start: body.left, step: body.right, all: body.all }
}

/** Whether a table of that name is read anywhere within. */
function mentions(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((each) => mentions(each, name))
  if (node === null || typeof node !== 'object' || node instanceof Map) return false
  const { kind, schema, name: own } = node as { kind?: unknown; schema?: unknown; name?: unknown }
  const isTable = kind === 'table' && schema === undefined && typeof own === 'string'
  if (isTable && own.toLowerCase() === name.toLowerCase()) return true
  return Object.values(node).some((each) => mentions(each, name))
}

function compileRecursive(
  { name, columns: names }: CommonTable,
  parts: RecursiveParts,
  outer: Scope,
): CompiledQuery {
  const start = bodyOf(parts.start, outer)
  const columns = renamed(start.columns, names)
  let working: readonly Row[] = []
  const commonTables = new Map(outer.commonTables)
  commonTables.set(name.toLowerCase(), {
    source: () => ({ columns, correlated: () => true, run: () => working }),
  })
  const scope = new Scope({ context: outer.context, outer, commonTables })
  const step = bodyOf(parts.step, scope)
  if (step.columns.length !== columns.length) refuse(differentColumns)
  const types = columns.map(({ type }) => type)
  const run = () => {
    const seen = new Set<string>()
    const fresh = (rows: readonly Row[]) => (parts.all ? rows : rows.filter((row) => isNew(row, types, seen)))
    working = fresh(start.run())
    const all = [...working]
    for (let round = 0; working.length > 0; round++) {
      if (round >= recursionRounds) refuse(tooDeep)
      working = fresh(converting(step, columns))
      for (const row of working) all.push(outer.context.budget.hold(row))
    }
    return all
  }
  return { columns: start.columns, correlated: () => scope.outer?.readsOuter ?? false, run }
}

const tooDeep = sqlFailure(
  3636,
  'HY000',
  `Recursive query aborted after ${recursionRounds + 1} iterations. Try increasing @@cte_max_recursion_depth to a larger value.`,
)

function isNew(row: Row, types: readonly Type[], seen: Set<string>): boolean {
  const key = rowKey(row, types)
  if (seen.has(key)) return false
  seen.add(key)
  return true
}
