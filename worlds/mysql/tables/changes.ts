/**
 * UPDATE and DELETE, of one table or of several that are joined.
 *
 * Invariants
 * - Rows are found first and changed then: no row is found by what the statement itself changed.
 * - A row that is found more than once is changed once; one whose values stay the same does not count.
 */
import { sqlFailure } from '../database.ts'
import { type Context, Scope, type Source } from '../expressions/scope.ts'
import { ambiguousColumn, notSupported, refuse, unknownColumn } from '../failure.ts'
import { compileFrom, filtersOf } from '../queries/from.ts'
import type { JoinNode } from '../queries/join.ts'
import { boundsOf, limited, type OrderKey, sorted } from '../queries/order.ts'
import type { Assignment, Statement, TableReference } from '../syntax/syntax.ts'
import type { Row, Table } from './catalog.ts'
import { checksOf, UniqueKeys } from './constraints.ts'
import { type Change, compileAssignments, refuseReads, type Update, updatedRow } from './insert.ts'

type UpdateStatement = Extract<Statement, { kind: 'update' }>
type DeleteStatement = Extract<Statement, { kind: 'delete' }>

interface Target {
  readonly source: Source
  readonly table: Table
  /** Where the source is among those of the statement. */
  readonly at: number
}

/** The statement's tables, and its rows as they are found. */
class Search {
  readonly scope: Scope
  readonly node: JoinNode
  readonly #statement: UpdateStatement | DeleteStatement
  readonly #tables: ReadonlyMap<Source, Table>

  constructor(statement: UpdateStatement | DeleteStatement, context: Context) {
    this.#statement = statement
    this.scope = new Scope({ context })
    this.node = compileFrom(statement.from, this.scope)
    this.#tables = new Map(this.node.sources.flatMap((source) => tableOf(source, statement.from, context)))
    if (statement.where !== undefined)
      for (const filter of filtersOf(statement.where, this.scope, 'where clause')) this.node.push(filter)
  }

  /** @throws StatementRefused where it is no table that can be changed */
  target(source: Source): Target {
    const table = this.#tables.get(source)
    if (table === undefined)
      return refuse(
        sqlFailure(1288, 'HY000', `The target table ${source.alias} of the statement is not updatable`),
      )
    return { source, table, at: this.node.sources.indexOf(source) }
  }

  /** For each row that is found, where all sources are. */
  run(): readonly (readonly (Row | null)[])[] {
    const { scope, node } = this
    const { order, limit } = this.#statement
    const isJoined = node.sources.length > 1
    if (isJoined && (order.length > 0 || limit !== undefined))
      refuse(sqlFailure(1221, 'HY000', 'Incorrect usage of a change of several tables and ORDER BY or LIMIT'))
    const keys: OrderKey[] = scope.within('order clause', () =>
      order.map(({ expression, descending }) => ({ compiled: scope.compile(expression), descending })),
    )
    const found: { row: Row; rows: readonly (Row | null)[]; keys: Row }[] = []
    node.prepare()
    node.iterate(() => {
      const rows = node.sources.map(({ row }) => row)
      scope.context.budget.hold(rows as never)
      found.push({ row: [], rows, keys: keys.map(({ compiled }) => compiled.get()) })
      return false
    })
    return limited(sorted(found, keys) as typeof found, boundsOf(limit)).map(({ rows }) => rows)
  }
}

function tableOf(source: Source, from: TableReference, context: Context): [Source, Table][] {
  const reference = referenceOf(source.alias, from)
  if (reference === undefined) return []
  const relation = context.catalog.find(reference)
  if (relation?.kind === 'view') refuse(notSupported('changes through a view'))
  return relation === undefined ? [] : [[source, relation]]
}

/** The table's name behind an alias. */
function referenceOf(alias: string, from: TableReference): string | undefined {
  if (from.kind === 'join') return referenceOf(alias, from.left) ?? referenceOf(alias, from.right)
  return from.kind === 'table' && from.alias === alias ? from.name : undefined
}

export function update(statement: UpdateStatement, context: Context): Change {
  const search = new Search(statement, context)
  const { scope, node } = search
  const owners = statement.assignments.map((assignment) => ownerOf(assignment, node.sources))
  const targets = [...new Set(owners)].map((source) => {
    const target = search.target(source)
    const own = statement.assignments.filter((_, at) => owners[at] === source)
    return new TargetUpdate(target, compileAssignments(own, target.table, scope), context)
  })
  refuseReads([statement.where, statement.assignments], new Set(targets.map(({ name }) => name)))
  for (const rows of search.run()) {
    for (const [at, source] of node.sources.entries()) source.row = rows[at] ?? null
    for (const target of targets) target.apply()
  }
  const affected = targets.reduce((sum, { changed }) => sum + changed, 0)
  return { tables: targets.map((target) => target.result()), affected }
}

/** The table whose column is assigned. @throws StatementRefused where there is none, or more than one */
function ownerOf({ table, column }: Assignment, sources: readonly Source[]): Source {
  const lower = column.toLowerCase()
  const owners = sources.filter(
    ({ alias, columns }) =>
      (table === undefined || table === alias) && columns.some(({ name }) => name.toLowerCase() === lower),
  )
  const [owner] = owners
  const name = table === undefined ? column : `${table}.${column}`
  if (owner === undefined) return refuse(unknownColumn(name, 'field list'))
  if (owners.length > 1) refuse(ambiguousColumn(name, 'field list'))
  return owner
}

/** The rows of one table that an UPDATE changes. */
class TargetUpdate {
  changed = 0
  readonly #target: Target
  readonly #updates: readonly Update[]
  readonly #keys: UniqueKeys
  readonly #check: (row: Row) => void
  readonly #seen = new Map<Row, Row>()

  constructor(target: Target, updates: readonly Update[], context: Context) {
    this.#target = target
    this.#updates = updates
    this.#keys = new UniqueKeys(target.table)
    this.#check = checksOf(target.table, context)
  }

  get name(): string {
    return this.#target.table.name
  }

  /** Changes the row at which the source is. */
  apply(): void {
    const { source } = this.#target
    const { row } = source
    if (row === null || this.#seen.has(row)) return
    const updated = updatedRow(row, this.#updates, (draft) => {
      source.row = draft
    })
    this.#seen.set(row, updated)
    if (updated === row) return
    this.#check(updated)
    this.#keys.check(updated, row)
    this.#keys.remove(row)
    this.#keys.add(updated)
    this.changed++
  }

  result(): Table {
    const { table } = this.#target
    return { ...table, rows: table.rows.map((row) => this.#seen.get(row) ?? row) }
  }
}

export function remove(statement: DeleteStatement, context: Context): Change {
  const search = new Search(statement, context)
  const targets = statement.targets.map((name) => {
    const source = search.node.sources.find(({ alias }) => alias === name)
    if (source === undefined)
      return refuse(sqlFailure(1109, '42S02', `Unknown table '${name}' in MULTI DELETE`))
    return search.target(source)
  })
  refuseReads(statement.where, new Set(targets.map(({ table }) => table.name)))
  const removed = targets.map(() => new Set<Row>())
  for (const rows of search.run())
    for (const [number, { at }] of targets.entries()) {
      const row = rows[at]
      if (row !== null && row !== undefined) removed[number]?.add(row)
    }
  const tables = targets.map(({ table }, number) => ({
    ...table,
    rows: table.rows.filter((row) => !removed[number]?.has(row)),
  }))
  return { tables, affected: removed.reduce((sum, { size }) => sum + size, 0) }
}
