/**
 * Compiles FROM: finds its tables and joins them.
 *
 * Invariants
 * - A column that tables are joined by is visible once.
 * - A query in FROM sees the queries around, not the tables beside it.
 */
import { sqlFailure } from '../database.ts'
import { comparisonOf } from '../expressions/comparison.ts'
import {
  type Compiled,
  type CompiledQuery,
  conditionOf,
  type Scope,
  type Source,
  type SourceColumn,
  type VisibleColumn,
} from '../expressions/scope.ts'
import { databaseName, deniedTable, refuse, unknownColumn, unknownTable } from '../failure.ts'
import type { Expression, Join, TableReference } from '../syntax/syntax.ts'
import { informationTable } from './information-schema.ts'
import { type Filter, type JoinNode, NoTable, PairNode, type Side, TableNode } from './join.ts'

/** Compiles FROM, and lets the scope see its columns. */
export function compileFrom(reference: TableReference | undefined, scope: Scope): JoinNode {
  const node = reference === undefined ? new NoTable() : nodeOf(reference, scope)
  const aliases = node.sources.map(({ alias }) => alias)
  const twice = aliases.find((alias, at) => aliases.indexOf(alias) !== at)
  if (twice !== undefined) refuse(sqlFailure(1066, '42000', `Not unique table/alias: '${twice}'`))
  scope.sources = [...node.sources]
  scope.visible = [...node.visible]
  return node
}

function nodeOf(reference: TableReference, scope: Scope): JoinNode {
  switch (reference.kind) {
    case 'table':
      return tableNode(reference, scope)
    case 'derived': {
      const query = scope.context.query(reference.query, scope)
      return queryNode(reference.alias, query, renamed(query.columns, reference.columns), scope)
    }
    case 'join':
      return joinNode(reference, scope)
  }
}

/** @throws StatementRefused where there are more or fewer names than columns */
export function renamed(columns: readonly SourceColumn[], names: readonly string[]): readonly SourceColumn[] {
  if (names.length === 0) return columns
  if (names.length !== columns.length)
    refuse(
      sqlFailure(
        1353,
        'HY000',
        'In definition of view, derived table or common table expression, SELECT list and column names list have different column counts',
      ),
    )
  return columns.map(({ type }, at) => ({ name: names[at] ?? '', type }))
}

function queryNode(
  alias: string,
  query: CompiledQuery,
  columns: readonly SourceColumn[],
  scope: Scope,
): TableNode {
  const names = columns.map(({ name }) => name.toLowerCase())
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) refuse(sqlFailure(1060, '42S21', `Duplicate column name '${twice}'`))
  return new TableNode({ alias, columns, row: null }, query.run, scope.context.budget)
}

function tableNode(
  { schema, name, alias }: Extract<TableReference, { kind: 'table' }>,
  scope: Scope,
): TableNode {
  const { context } = scope
  const common = schema === undefined ? scope.commonTables.get(name.toLowerCase()) : undefined
  if (common !== undefined) {
    const query = common.source(scope)
    return queryNode(alias, query, query.columns, scope)
  }
  if (schema?.toLowerCase() === 'information_schema') {
    const { columns, rows } = informationTable(name, context.catalog, (view) =>
      renamed(context.query(view.query, scope).columns, view.columns),
    )
    return new TableNode({ alias, columns, row: null }, () => rows, context.budget)
  }
  if (schema !== undefined && schema.toLowerCase() !== databaseName) refuse(deniedTable(schema, name))
  const relation = context.catalog.find(name)
  if (relation === undefined) return refuse(unknownTable(name))
  if (relation.kind === 'view') {
    const query = context.query(relation.query, scope)
    return queryNode(alias, query, renamed(query.columns, relation.columns), scope)
  }
  return new TableNode(
    { alias, columns: relation.columns, row: null },
    () => relation.rows,
    context.budget,
    relation,
  )
}

function joinNode(join: Join, scope: Scope): JoinNode {
  const [left, right] = [nodeOf(join.left, scope), nodeOf(join.right, scope)]
  const names = join.natural ? commonNames(left, right) : (join.using ?? [])
  const pairs = names.map((name) => [visibleOf(left, name), visibleOf(right, name)] as const)
  const visible = visibleColumns(join, left, right, pairs)
  const isRight = join.side === 'right'
  const node = isRight
    ? new PairNode(right, left, true, visible)
    : new PairNode(left, right, join.side === 'left', visible)
  node.on(pairs.map(equalityOf))
  const { on } = join
  if (on !== undefined) node.on(withNames(scope, node, () => filtersOf(on, scope, 'on clause')))
  return node
}

function commonNames(left: JoinNode, right: JoinNode): readonly string[] {
  const names = new Set(right.visible.map(({ name }) => name.toLowerCase()))
  return left.visible.map(({ name }) => name).filter((name) => names.has(name.toLowerCase()))
}

function visibleOf(node: JoinNode, name: string): VisibleColumn {
  const found = node.visible.find((column) => column.name.toLowerCase() === name.toLowerCase())
  return found ?? refuse(unknownColumn(name, 'from clause'))
}

type Pair = readonly [VisibleColumn, VisibleColumn]

function visibleColumns(
  join: Join,
  left: JoinNode,
  right: JoinNode,
  pairs: readonly Pair[],
): VisibleColumn[] {
  const merged = pairs.map(([first, second]) => (join.side === 'right' ? second : first))
  const joined = new Set(pairs.flat())
  const rest = (node: JoinNode) => node.visible.filter((column) => !joined.has(column))
  const others =
    join.side === 'right' && pairs.length > 0
      ? [...rest(right), ...rest(left)]
      : [...rest(left), ...rest(right)]
  return [...merged, ...others]
}

function equalityOf([left, right]: Pair): Filter {
  const sides = [left, right].map(({ compiled, sources }) => ({ compiled, reads: new Set(sources) }))
  return equality(sides[0] as Side, sides[1] as Side)
}

function equality(left: Side, right: Side): Filter {
  const compiled = comparisonOf('=', left.compiled, right.compiled)
  return {
    test: conditionOf(compiled),
    reads: new Set([...left.reads, ...right.reads]),
    equality: [left, right],
  }
}

/** ON sees the tables that it joins, not those beside them. */
function withNames<T>(scope: Scope, node: JoinNode, work: () => T): T {
  const { sources, visible } = scope
  scope.sources = [...node.sources]
  scope.visible = [...node.visible]
  try {
    return work()
  } finally {
    scope.sources = sources
    scope.visible = visible
  }
}

/** The conditions that AND joins, each with what it reads. */
export function filtersOf(
  condition: Expression,
  scope: Scope,
  clause: 'on clause' | 'where clause',
): readonly Filter[] {
  if (condition.kind === 'binary' && condition.operator === 'AND')
    return [...filtersOf(condition.left, scope, clause), ...filtersOf(condition.right, scope, clause)]
  return scope.within(clause, () => {
    const isEquality =
      condition.kind === 'binary' &&
      condition.operator === '=' &&
      condition.left.kind === 'column' &&
      condition.right.kind === 'column'
    if (isEquality) return [equality(traced(condition.left, scope), traced(condition.right, scope))]
    const { compiled, reads } = traced(condition, scope)
    return [{ test: conditionOf(compiled), reads }]
  })
}

function traced(expression: Expression, scope: Scope): Side {
  const before = scope.reads
  const reads = new Set<Source>()
  scope.reads = reads
  const compiled: Compiled = scope.compile(expression)
  scope.reads = before
  for (const source of reads) before?.add(source)
  return { compiled, reads }
}
