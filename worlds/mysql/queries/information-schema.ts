/**
 * The information schema: tables that tell of the session's tables.
 *
 * Invariants
 * - It tells of the session's own database only; a table of it that the engine lacks is refused by name.
 */

import type { SourceColumn } from '../expressions/scope.ts'
import { databaseName, notSupported, refuse } from '../failure.ts'
import type { Catalog, Column, Relation, Row, Table, View } from '../tables/catalog.ts'
import { derivedColumn } from '../tables/storage.ts'
import { integerType, textType } from '../values/type.ts'
import { toText, type Value } from '../values/value.ts'

/** The columns of a view, which only its query tells. */
export type ColumnsOf = (view: View) => readonly SourceColumn[]

interface InformationTable {
  readonly columns: string
  readonly rows: (catalog: Catalog, columnsOf: ColumnsOf) => readonly Row[]
}

const collation = 'utf8mb4_0900_ai_ci'
const textLengths: Readonly<Record<string, bigint>> = {
  tinytext: 255n,
  text: 65_535n,
  mediumtext: 16_777_215n,
  longtext: 4_294_967_295n,
}

function tablesOf(catalog: Catalog): readonly Relation[] {
  return catalog.relations().filter((relation) => relation.kind === 'view' || !relation.temporary)
}

function storedTables(catalog: Catalog): readonly Table[] {
  return catalog.relations().filter((relation) => relation.kind === 'table')
}

function tableRow(relation: Relation): Row {
  const isTable = relation.kind === 'table'
  return [
    ...['def', databaseName, relation.name, isTable ? 'BASE TABLE' : 'VIEW', isTable ? 'InnoDB' : null],
    ...[isTable ? BigInt(relation.rows.length) : null, isTable ? collation : null, ''],
  ]
}

function columnRow(table: Table | View, column: Column, at: number): Row {
  const { declared, name, nullable, autoIncrement } = column
  const isText = column.type.kind === 'text'
  const length = isText ? (textLengths[declared.name] ?? BigInt(declared.length ?? 1)) : null
  return [
    ...['def', databaseName, table.name, name, BigInt(at + 1), defaultOf(column), nullable ? 'YES' : 'NO'],
    ...[declared.name, length, precisionOf(column), scaleOf(column), isText ? 'utf8mb4' : null],
    ...[
      isText ? collation : null,
      declared.text,
      table.kind === 'table' ? keyOf(table, at) : '',
      autoIncrement ? 'auto_increment' : '',
      '',
    ],
  ]
}

function defaultOf({ default: given }: Column): Value {
  if (given?.kind !== 'literal' || given.value === null) return null
  return toText(given.value)
}

const precisions: Readonly<Record<string, bigint>> = {
  tinyint: 3n,
  smallint: 5n,
  mediumint: 7n,
  int: 10n,
  bigint: 19n,
  float: 12n,
  double: 22n,
}

function precisionOf({ declared }: Column): Value {
  if (declared.name === 'decimal') return BigInt(declared.length ?? 10)
  return precisions[declared.name] ?? null
}

function scaleOf({ declared, type }: Column): Value {
  if (declared.name === 'decimal') return BigInt(declared.scale ?? 0)
  return type.kind === 'integer' && declared.name !== 'year' ? 0n : null
}

function keyOf(table: Table, at: number): string {
  const kinds = table.keys.filter(({ columns }) => columns[0] === at)
  if (table.keys.some(({ kind, columns }) => kind === 'primary' && columns.includes(at))) return 'PRI'
  if (kinds.some(({ kind, columns }) => kind === 'unique' && columns.length === 1)) return 'UNI'
  return kinds.length > 0 ? 'MUL' : ''
}

function statisticsOf(table: Table): readonly Row[] {
  return table.keys.flatMap(({ name, kind, columns }) =>
    columns.map((place, at) => {
      const column = table.columns[place] as Column
      const nullable = column.nullable ? 'YES' : ''
      return [
        databaseName,
        table.name,
        kind === 'index' ? 1n : 0n,
        name,
        BigInt(at + 1),
        column.name,
        nullable,
        'BTREE',
      ]
    }),
  )
}

const tables: Readonly<Record<string, InformationTable>> = {
  SCHEMATA: {
    columns: 'CATALOG_NAME SCHEMA_NAME DEFAULT_CHARACTER_SET_NAME DEFAULT_COLLATION_NAME',
    rows: () => [
      ['def', 'information_schema', 'utf8mb3', 'utf8mb3_general_ci'],
      ['def', databaseName, 'utf8mb4', collation],
    ],
  },
  TABLES: {
    columns:
      'TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE ENGINE #TABLE_ROWS TABLE_COLLATION TABLE_COMMENT',
    rows: (catalog) => tablesOf(catalog).map(tableRow),
  },
  COLUMNS: {
    columns: `TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME #ORDINAL_POSITION COLUMN_DEFAULT IS_NULLABLE DATA_TYPE
      #CHARACTER_MAXIMUM_LENGTH #NUMERIC_PRECISION #NUMERIC_SCALE CHARACTER_SET_NAME COLLATION_NAME COLUMN_TYPE COLUMN_KEY
      EXTRA COLUMN_COMMENT`,
    rows: (catalog, columnsOf) =>
      catalog.relations().flatMap((relation) => {
        if (relation.kind === 'table')
          return relation.columns.map((column, at) => columnRow(relation, column, at))
        return columnsOf(relation).map(({ name, type }, at) =>
          columnRow(relation, derivedColumn(name, type), at),
        )
      }),
  },
  STATISTICS: {
    columns: 'TABLE_SCHEMA TABLE_NAME #NON_UNIQUE INDEX_NAME #SEQ_IN_INDEX COLUMN_NAME NULLABLE INDEX_TYPE',
    rows: (catalog) => storedTables(catalog).flatMap(statisticsOf),
  },
  VIEWS: {
    columns: 'TABLE_CATALOG TABLE_SCHEMA TABLE_NAME VIEW_DEFINITION',
    rows: (catalog) =>
      catalog
        .relations()
        .flatMap((relation) =>
          relation.kind === 'view' ? [['def', databaseName, relation.name, relation.text]] : [],
        ),
  },
}

/** @throws StatementRefused where the engine has no such table */
export function informationTable(
  name: string,
  catalog: Catalog,
  columnsOf: ColumnsOf,
): { readonly columns: readonly SourceColumn[]; readonly rows: readonly Row[] } {
  const upper = name.toUpperCase()
  const table = Object.hasOwn(tables, upper) ? tables[upper] : undefined
  if (table === undefined) return refuse(notSupported(`information_schema.${upper}`))
  const columns = table.columns
    .split(/\s+/)
    .map((column) =>
      column.startsWith('#')
        ? { name: column.slice(1), type: integerType }
        : { name: column, type: textType },
    )
  return { columns, rows: table.rows(catalog, columnsOf) }
}
