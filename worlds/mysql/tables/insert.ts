/**
 * INSERT and REPLACE.
 *
 * Invariants
 * - Either all rows are stored or none; a statement that fails leaves the table as it was.
 * - A row counts as one that was changed, a row that another one replaced or updated as two.
 * - A query in FROM is made before anything changes, and may read the table.
 */
import { sqlFailure } from '../database.ts'
import { type Context, Scope, type Source } from '../expressions/scope.ts'
import { columnCount, notSupported, refuse, unknownColumn } from '../failure.ts'
import type { Assignment, Expression, Insert } from '../syntax/syntax.ts'
import type { Type } from '../values/type.ts'
import type { Value } from '../values/value.ts'
import { type Column, placeOf, type Row, type Table } from './catalog.ts'
import { checksOf, scopeOf, UniqueKeys } from './constraints.ts'
import { implicitDefault, stored } from './storage.ts'

/** The result of a change: the tables as they are now. */
export interface Change {
  readonly tables: readonly Table[]
  readonly affected: number
  /** First number that AUTO_INCREMENT gave. */
  readonly insertId?: bigint | undefined
}

export function insert(statement: Insert, context: Context): Change {
  return new Insertion(statement, context).run()
}

/** The value that a column has where none is given. */
export function defaultValue(column: Column, context: Context): Value {
  if (column.default === undefined) return column.nullable ? null : implicitDefault(column)
  const compiled = new Scope({ context }).compile(column.default)
  return stored(compiled.get(), compiled.type, column)
}

class Insertion {
  readonly #statement: Insert
  readonly #context: Context
  readonly #table: Table
  readonly #places: readonly number[]
  readonly #source: Source
  readonly #fresh: Source
  readonly #keys: UniqueKeys
  readonly #check: (row: Row) => void
  readonly #rows: Set<Row>
  readonly #update: (existing: Row, row: Row) => Row
  #nextId: bigint
  /** Numbers up to here are reserved for this statement, as InnoDB does: those that it leaves stay unused. */
  #reserved: bigint
  #reservation = 1n
  #doubles = false
  #insertId: bigint | undefined
  #affected = 0

  constructor(statement: Insert, context: Context) {
    this.#statement = statement
    this.#context = context
    if (context.catalog.find(statement.table)?.kind === 'view') refuse(notSupported('INSERT into a view'))
    this.#table = context.catalog.table(statement.table)
    this.#places = placesOf(this.#table, statement.columns)
    this.#source = { alias: this.#table.name, columns: this.#table.columns, row: null }
    this.#fresh = { alias: '', columns: this.#table.columns, row: null }
    this.#keys = new UniqueKeys(this.#table)
    this.#check = checksOf(this.#table, context)
    this.#rows = new Set(this.#table.rows)
    this.#nextId = this.#table.ids.next
    this.#reserved = this.#nextId
    this.#update = this.#updating(statement.duplicate)
  }

  run(): Change {
    const given = this.#given()
    const isQuery = !isRows(this.#statement.source)
    if (!isQuery) this.#reservation = BigInt(given.length)
    this.#doubles = isQuery
    for (const { values, types } of given) this.#insert(values, types, given.length > 1)
    const table = { ...this.#table, rows: [...this.#rows] }
    return { tables: [table], affected: this.#affected, insertId: this.#insertId }
  }

  /** The rows as they are given; undefined asks for a column's default. */
  #given(): { readonly values: readonly (Value | undefined)[]; readonly types: readonly Type[] }[] {
    const { source } = this.#statement
    if (!isRows(source)) {
      const query = this.#context.query(source, new Scope({ context: this.#context }))
      if (query.columns.length !== this.#places.length) refuse(columnCount(1))
      const types = query.columns.map(({ type }) => type)
      return query.run().map((values) => ({ values, types }))
    }
    refuseReads(source, new Set([this.#table.name]))
    const scope = scopeOf(this.#source, this.#context)
    for (const [at, row] of source.entries())
      if (row.length !== this.#places.length && row.length > 0) refuse(columnCount(at + 1))
    return source.map((row) => {
      const compiled = row.map((value) => (value.kind === 'default' ? undefined : scope.compile(value)))
      // Columns that stand before in the same row may be read.
      const draft: Value[] = this.#table.columns.map((column) => defaultValue(column, this.#context))
      this.#source.row = draft
      const values = compiled.map((each, at) => {
        const value = each?.get()
        const place = this.#places[at] ?? 0
        const column = this.#table.columns[place]
        if (each !== undefined && value !== undefined && column !== undefined)
          draft[place] = stored(value, each.type, column)
        return value
      })
      return { values, types: compiled.map((each) => each?.type ?? { kind: 'null', scale: 0 }) }
    })
  }

  #insert(values: readonly (Value | undefined)[], types: readonly Type[], isOneOfMany: boolean): void {
    const row = this.#table.columns.map((column, place) => {
      const at = values.length === 0 ? -1 : this.#places.indexOf(place)
      const value = at < 0 ? undefined : values[at]
      if (value === undefined)
        return column.autoIncrement ? this.#numbered(null) : defaultValue(column, this.#context)
      const kept = stored(value, types[at] as Type, column)
      if (column.autoIncrement) return this.#numbered(kept as bigint | null)
      if (kept !== null || column.nullable) return kept
      if (!isOneOfMany && !this.#statement.ignores)
        refuse(sqlFailure(1048, '23000', `Column '${column.name}' cannot be null`))
      return implicitDefault(column)
    })
    this.#check(row)
    this.#place(this.#context.budget.hold(row))
    this.#spend(this.#nextId)
  }

  #numbered(given: bigint | null): bigint {
    const isNew = given === null || given === 0n
    const id = isNew ? this.#nextId : given
    if (isNew) {
      this.#insertId ??= id
      this.#reserve(id)
    }
    if (id >= this.#nextId) this.#nextId = id + 1n
    return id
  }

  #reserve(id: bigint): void {
    if (id < this.#reserved) return
    this.#reserved = id + this.#reservation
    this.#spend(this.#reserved)
    if (this.#doubles) this.#reservation *= 2n
  }

  /** Numbers below the next one are not given again. */
  #spend(next: bigint): void {
    const { ids } = this.#table
    if (next > ids.next) ids.next = next
  }

  #place(row: Row): void {
    const { replaces, ignores, duplicate } = this.#statement
    for (let clash = this.#keys.clash(row); clash !== undefined; clash = this.#keys.clash(row)) {
      if (replaces) {
        this.#remove(clash.row)
        this.#affected++
        continue
      }
      if (duplicate.length > 0) {
        this.#replace(clash.row, this.#update(clash.row, row))
        return
      }
      if (ignores) return
      this.#keys.check(row)
    }
    this.#rows.add(row)
    this.#keys.add(row)
    this.#affected++
  }

  #remove(row: Row): void {
    this.#rows.delete(row)
    this.#keys.remove(row)
  }

  #replace(existing: Row, updated: Row): void {
    if (updated === existing) return
    this.#keys.check(updated, existing)
    this.#check(updated)
    const rows = [...this.#rows].map((row) => (row === existing ? updated : row))
    this.#keys.remove(existing)
    this.#keys.add(updated)
    this.#rows.clear()
    for (const row of rows) this.#rows.add(row)
    this.#affected += 2
  }

  /** ON DUPLICATE KEY UPDATE: the row that is there, updated; itself where nothing changes. */
  #updating(assignments: readonly Assignment[]): (existing: Row, row: Row) => Row {
    const scope = scopeOf(this.#source, this.#context)
    scope.newRow = this.#fresh
    const updates = compileAssignments(assignments, this.#table, scope)
    return (existing, row) => {
      this.#source.row = existing
      this.#fresh.row = row
      return updatedRow(existing, updates, (draft) => {
        this.#source.row = draft
      })
    }
  }
}

function isRows(source: Insert['source']): source is readonly (readonly Expression[])[] {
  return Array.isArray(source)
}

function placesOf(table: Table, names: readonly string[] | undefined): readonly number[] {
  if (names === undefined) return table.columns.map((_, at) => at)
  const places = names.map((name) => placeOf(table, name) ?? refuse(unknownColumn(name, 'field list')))
  const twice = places.findIndex((place, at) => places.indexOf(place) !== at)
  if (twice >= 0) refuse(sqlFailure(1110, '42000', `Column '${names[twice]}' specified twice`))
  return places
}

export interface Update {
  readonly place: number
  readonly column: Column
  readonly value: () => Value
}

/** Assignments to columns of one table. */
export function compileAssignments(
  assignments: readonly Assignment[],
  table: Table,
  scope: Scope,
): readonly Update[] {
  return assignments.map(({ column: name, value }) => {
    const place = placeOf(table, name) ?? refuse(unknownColumn(name, 'field list'))
    const column = table.columns[place] as Column
    if (value.kind === 'default') return { place, column, value: () => defaultValue(column, scope.context) }
    const compiled = scope.compile(value)
    return { place, column, value: () => stored(compiled.get(), compiled.type, column) }
  })
}

/** The row with the assignments made, in their order; itself where they change nothing. */
export function updatedRow(row: Row, updates: readonly Update[], show: (draft: Row) => void): Row {
  const draft = [...row]
  show(draft)
  for (const { place, column, value } of updates) {
    const given = value()
    draft[place] = given === null && !column.nullable ? implicitDefault(column) : given
  }
  return draft.every((value, at) => same(value, row[at] ?? null)) ? row : draft
}

function same(left: Value, right: Value): boolean {
  if (left === right) return true
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right) === 0
  return (
    String(left) === String(right) &&
    JSON.stringify(left, textOfBigint) === JSON.stringify(right, textOfBigint)
  )
}

function textOfBigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** @throws StatementRefused where a query within reads one of the tables */
export function refuseReads(expression: unknown, tables: ReadonlySet<string>): void {
  if (Array.isArray(expression)) {
    for (const each of expression) refuseReads(each, tables)
    return
  }
  if (expression === null || typeof expression !== 'object') return
  const { kind, name, schema } = expression as { kind?: unknown; name?: unknown; schema?: unknown }
  if (kind === 'derived') return
  if (kind === 'table' && schema === undefined && typeof name === 'string' && tables.has(name))
    refuse(sqlFailure(1093, 'HY000', `You can't specify target table '${name}' for update in FROM clause`))
  for (const each of Object.values(expression)) refuseReads(each, tables)
}
