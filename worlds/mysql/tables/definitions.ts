/**
 * Statements that define tables, views and keys.
 *
 * Invariants
 * - A definition that fails leaves everything as it was.
 * - A table has at most one primary key; a key is only made where the rows keep to it.
 * - The text creates a table with the same columns and keys.
 */
import { sqlFailure } from '../database.ts'
import { type Context, Scope } from '../expressions/scope.ts'
import { notSupported, refuse, tableExists, unknownTable } from '../failure.ts'
import { renamed } from '../queries/from.ts'
import type {
  Alteration,
  ColumnDefinition,
  CreateTable,
  KeyDefinition,
  Place,
  Statement,
} from '../syntax/syntax.ts'
import type { Type } from '../values/type.ts'
import { toText, toWhole } from '../values/value.ts'
import { type Column, type Key, placeOf, type Relation, type Row, type Table } from './catalog.ts'
import { UniqueKeys } from './constraints.ts'
import { defaultValue } from './insert.ts'
import { derivedColumn, stored, typeOfColumn } from './storage.ts'

/** @returns rows that were copied into the new table */
export function createTable(statement: CreateTable, context: Context): number {
  const { name, temporary, like, query } = statement
  const { catalog } = context
  if (catalog.find(name) !== undefined) {
    if (statement.ifNotExists) return 0
    refuse(tableExists(name))
  }
  if (like !== undefined) {
    catalog.put({ ...catalog.table(like), name, temporary, rows: [], ids: { next: 1n } })
    return 0
  }
  const columns = statement.columns.map(columnOf)
  const checks = [...statement.checks, ...statement.columns.flatMap(({ check }) => check ?? [])]
  let table: Table = {
    kind: 'table',
    name,
    columns,
    checks,
    temporary,
    keys: [],
    rows: [],
    ids: { next: 1n },
  }
  if (query !== undefined) table = filled(table, query, context)
  checkNames(table)
  for (const key of [...statement.columns.flatMap(keyOfColumn), ...statement.keys])
    table = withKey(table, key)
  const auto = table.columns.filter(({ autoIncrement }) => autoIncrement)
  if (auto.length > 1 || auto.some((column) => !isKeyed(table, column)))
    refuse(
      sqlFailure(
        1075,
        '42000',
        'Incorrect table definition; there can be only one auto column and it must be defined as a key',
      ),
    )
  catalog.put(table)
  return table.rows.length
}

function isKeyed(table: Table, column: Column): boolean {
  const place = table.columns.indexOf(column)
  return table.keys.some(({ columns }) => columns[0] === place)
}

function keyOfColumn({ name, key }: ColumnDefinition): KeyDefinition[] {
  return key === undefined ? [] : [{ kind: key, columns: [name] }]
}

function columnOf({
  name,
  type: declared,
  nullable,
  autoIncrement,
  default: given,
}: ColumnDefinition): Column {
  const isLong = /text$|blob$/.test(declared.name)
  if (isLong && given?.kind === 'literal' && given.value !== null)
    refuse(
      sqlFailure(1101, '42000', `BLOB, TEXT, GEOMETRY or JSON column '${name}' can't have a default value`),
    )
  return {
    name,
    declared,
    nullable: nullable && !autoIncrement,
    autoIncrement,
    default: given,
    type: typeOfColumn(declared),
  }
}

function checkNames({ columns }: Table): void {
  const names = columns.map(({ name }) => name.toLowerCase())
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (twice >= 0) refuse(sqlFailure(1060, '42S21', `Duplicate column name '${columns[twice]?.name ?? ''}'`))
}

/** With the columns and rows of a query behind its own columns. */
function filled(table: Table, query: NonNullable<CreateTable['query']>, context: Context): Table {
  const compiled = context.query(query, new Scope({ context }))
  const own = table.columns
  const added = compiled.columns
    .filter(({ name }) => placeOf(table, name) === undefined)
    .map(({ name, type }) => derivedColumn(name, type))
  const columns = [...own, ...added]
  const places = compiled.columns.map(({ name }) =>
    columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase()),
  )
  const rows = compiled.run().map((row) =>
    columns.map((column, place) => {
      const at = places.indexOf(place)
      return at < 0
        ? defaultValue(column, context)
        : stored(row[at] ?? null, compiled.columns[at]?.type as Type, column)
    }),
  )
  return { ...table, columns, rows }
}

function withKey(table: Table, { kind, columns: names, name: given }: KeyDefinition): Table {
  const places = names.map(
    (name) =>
      placeOf(table, name) ??
      refuse(sqlFailure(1072, '42000', `Key column '${name}' doesn't exist in table`)),
  )
  if (kind === 'primary' && table.keys.some((key) => key.kind === 'primary'))
    refuse(sqlFailure(1068, '42000', 'Multiple primary key defined'))
  const name = kind === 'primary' ? 'PRIMARY' : (given ?? freeName(table, names[0] ?? 'key'))
  if (table.keys.some((key) => key.name.toLowerCase() === name.toLowerCase()))
    refuse(sqlFailure(1061, '42000', `Duplicate key name '${name}'`))
  const key: Key = { name, kind, columns: places }
  const columns = table.columns.map((column, at) =>
    kind === 'primary' && places.includes(at) ? { ...column, nullable: false } : column,
  )
  const keyed: Table = { ...table, columns, keys: [...table.keys, key] }
  if (kind === 'primary' && table.rows.some((row) => places.some((place) => row[place] === null)))
    refuse(sqlFailure(1138, '22004', 'Invalid use of NULL value'))
  checkKeys(keyed)
  return keyed
}

function freeName(table: Table, base: string): string {
  let name = base
  for (let number = 2; table.keys.some((key) => key.name === name); number++) name = `${base}_${number}`
  return name
}

/** @throws StatementRefused where two rows have the same value of a unique key */
function checkKeys(table: Table): void {
  const keys = new UniqueKeys({ ...table, rows: [] })
  for (const row of table.rows) {
    keys.check(row)
    keys.add(row)
  }
}

export function createIndex(
  statement: Extract<Statement, { kind: 'create index' }>,
  { catalog }: Context,
): void {
  catalog.put(withKey(catalog.table(statement.table), statement.key))
}

export function dropIndex(
  { table, name }: { readonly table: string; readonly name: string },
  { catalog }: Context,
): void {
  catalog.put(withoutKey(catalog.table(table), name))
}

function withoutKey(table: Table, name: string): Table {
  const keys = table.keys.filter((key) => key.name.toLowerCase() !== name.toLowerCase())
  if (keys.length === table.keys.length) refuse(cannotDrop(name))
  return { ...table, keys }
}

function cannotDrop(name: string) {
  return sqlFailure(1091, '42000', `Can't DROP '${name}'; check that column/key exists`)
}

export function createView(statement: Extract<Statement, { kind: 'create view' }>, context: Context): void {
  const { name, replaces, columns, query, text } = statement
  const existing = context.catalog.find(name)
  if (existing !== undefined && (existing.kind === 'table' || !replaces)) refuse(tableExists(name))
  const compiled = context.query(query, new Scope({ context }))
  renamed(compiled.columns, columns)
  const names = columns.length > 0 ? columns : compiled.columns.map((column) => column.name)
  context.catalog.put({ kind: 'view', name, columns: names, query, text })
}

export function drop(
  { what, names, ifExists }: Extract<Statement, { kind: 'drop' }>,
  { catalog }: Context,
): void {
  const missing = names.filter((name) => catalog.find(name)?.kind !== what)
  if (missing.length > 0 && !ifExists)
    refuse(sqlFailure(1051, '42S02', `Unknown table '${missing.map((name) => `dbbench.${name}`).join(',')}'`))
  for (const name of names) if (!missing.includes(name)) catalog.remove(name)
}

export function renameTables(pairs: readonly (readonly [string, string])[], { catalog }: Context): void {
  for (const [from, to] of pairs) {
    const relation = catalog.find(from) ?? refuse(unknownTable(from))
    if (catalog.find(to) !== undefined) refuse(tableExists(to))
    catalog.remove(from)
    catalog.put({ ...relation, name: to })
  }
}

/** @returns rows that were copied because a column has another type now */
export function alter(
  { table: name, alterations }: Extract<Statement, { kind: 'alter' }>,
  context: Context,
): number {
  if (context.catalog.find(name)?.kind === 'view') refuse(notSupported('ALTER TABLE of a view'))
  const before = context.catalog.table(name)
  let table = before
  for (const alteration of alterations) table = altered(table, alteration, context)
  checkNames(table)
  const isCopied = alterations.some(
    (each) => each.kind === 'change' && isRetyped(before, each.from, each.column),
  )
  if (table.name !== name) {
    if (context.catalog.find(table.name) !== undefined) refuse(tableExists(table.name))
    context.catalog.remove(name)
  }
  context.catalog.put(table)
  return isCopied ? table.rows.length : 0
}

function isRetyped(table: Table, name: string, { type }: ColumnDefinition): boolean {
  const place = placeOf(table, name)
  return place !== undefined && table.columns[place]?.declared.text !== type.text
}

function altered(table: Table, alteration: Alteration, context: Context): Table {
  switch (alteration.kind) {
    case 'nothing':
      return table
    case 'rename':
      return { ...table, name: alteration.to }
    case 'add key':
      return withKey(table, alteration.key)
    case 'drop key':
      return withoutKey(table, alteration.name)
    case 'drop':
      return withoutColumn(table, alteration.column)
    case 'add':
      return withColumn(table, alteration.column, alteration.place, context)
    case 'change':
      return changed(table, alteration.from, alteration.column, alteration.place)
    case 'rename column': {
      const place = existingPlace(table, alteration.from)
      const columns = table.columns.map((column, at) =>
        at === place ? { ...column, name: alteration.to } : column,
      )
      return { ...table, columns }
    }
    case 'default': {
      const place = existingPlace(table, alteration.column)
      const columns = table.columns.map((column, at) =>
        at === place ? { ...column, default: alteration.value } : column,
      )
      return { ...table, columns }
    }
  }
}

function existingPlace(table: Table, name: string): number {
  return (
    placeOf(table, name) ?? refuse(sqlFailure(1054, '42S22', `Unknown column '${name}' in '${table.name}'`))
  )
}

function withoutColumn(table: Table, name: string): Table {
  const place = placeOf(table, name) ?? refuse(cannotDrop(name))
  if (table.columns.length === 1)
    refuse(sqlFailure(1090, '42000', "You can't delete all columns with ALTER TABLE; use DROP TABLE instead"))
  const without = <T>(list: readonly T[]): T[] => list.filter((_, at) => at !== place)
  const keys = table.keys
    .map((key) => ({
      ...key,
      columns: key.columns.filter((at) => at !== place).map((at) => (at > place ? at - 1 : at)),
    }))
    .filter(({ columns }) => columns.length > 0)
  return { ...table, columns: without(table.columns), rows: table.rows.map(without), keys }
}

function withColumn(
  table: Table,
  definition: ColumnDefinition,
  place: Place | undefined,
  context: Context,
): Table {
  if (definition.autoIncrement) refuse(notSupported('ADD COLUMN with AUTO_INCREMENT'))
  const column = columnOf(definition)
  const value = defaultValue(column, context)
  const end = table.columns.length
  const added: Table = {
    ...table,
    columns: [...table.columns, column],
    rows: table.rows.map((row) => [...row, value]),
    checks: [...table.checks, ...(definition.check === undefined ? [] : [definition.check])],
  }
  const moved = movedColumn(added, end, place)
  return keyOfColumn(definition).reduce(withKey, moved)
}

/** With a column at another place. */
function movedColumn(table: Table, from: number, place: Place | undefined): Table {
  if (place === undefined) return table
  const target = place === 'first' ? 0 : existingPlace(table, place.after) + 1
  const order = table.columns.map((_, at) => at).filter((at) => at !== from)
  order.splice(target > from ? target - 1 : target, 0, from)
  const reordered = <T>(list: readonly T[]): T[] => order.map((at) => list[at] as T)
  const keys = table.keys.map((key) => ({ ...key, columns: key.columns.map((at) => order.indexOf(at)) }))
  return { ...table, columns: reordered(table.columns), rows: table.rows.map(reordered), keys }
}

function changed(table: Table, from: string, definition: ColumnDefinition, place: Place | undefined): Table {
  const at = existingPlace(table, from)
  const before = table.columns[at] as Column
  const column = columnOf(definition)
  const isPrimary = table.keys.some(({ kind, columns }) => kind === 'primary' && columns.includes(at))
  const kept: Column = isPrimary ? { ...column, nullable: false } : column
  if (!kept.nullable && table.rows.some((row) => row[at] === null))
    refuse(sqlFailure(1138, '22004', 'Invalid use of NULL value'))
  const rows: Row[] = table.rows.map((row) =>
    row.map((value, each) => (each === at ? stored(value, before.type, kept) : value)),
  )
  const columns = table.columns.map((each, number) => (number === at ? kept : each))
  const ids = kept.autoIncrement ? { next: largestIn(rows, at) + 1n } : table.ids
  const result = { ...table, columns, rows, ids }
  checkKeys(result)
  return keyOfColumn(definition).reduce(withKey, movedColumn(result, at, place))
}

function largestIn(rows: readonly Row[], place: number): bigint {
  let largest = 0n
  for (const row of rows) {
    const number = toWhole(row[place] ?? 0n)
    if (number > largest) largest = number
  }
  return largest
}

/** SHOW CREATE TABLE. */
export function definitionText(relation: Relation): string {
  if (relation.kind === 'view') return `CREATE VIEW ${quoted(relation.name)} AS ${relation.text}`
  const parts = [...relation.columns.map(columnText), ...keyTexts(relation)]
  return `CREATE TABLE ${quoted(relation.name)} (\n${parts.map((part) => `  ${part}`).join(',\n')}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci`
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

function columnText({ name, declared, nullable, autoIncrement, default: given, type }: Column): string {
  const parts = [quoted(name), declared.text]
  if (!nullable) parts.push('NOT NULL')
  const isLong = /text$|blob$/.test(declared.name)
  if (given?.kind === 'literal' && given.value !== null) parts.push(`DEFAULT '${toText(given.value)}'`)
  else if (nullable && !isLong && type.kind !== 'null') parts.push('DEFAULT NULL')
  if (autoIncrement) parts.push('AUTO_INCREMENT')
  return parts.join(' ')
}

function keyTexts({ keys, columns }: Table): string[] {
  return keys.map(({ name, kind, columns: places }) => {
    const list = places.map((place) => quoted(columns[place]?.name ?? '')).join(',')
    if (kind === 'primary') return `PRIMARY KEY (${list})`
    return `${kind === 'unique' ? 'UNIQUE KEY' : 'KEY'} ${quoted(name)} (${list})`
  })
}
