/**
 * The tables and views of one database.
 *
 * Invariants
 * - A table is never changed in place: a change puts another one under its name, so that an older catalog still
 *   holds what was.
 * - Case counts in names of tables, as on MySQL's servers, but not in names of columns.
 */

import { databaseBytes } from '../budget.ts'
import type { TableData } from '../database.ts'
import { refuse, tableFull, unknownTable } from '../failure.ts'
import type { ColumnType, Expression, Query } from '../syntax/syntax.ts'
import { type Type, textType } from '../values/type.ts'
import { bytesOfRow, type Value } from '../values/value.ts'

export interface Column {
  readonly name: string
  readonly type: Type
  readonly declared: ColumnType
  readonly nullable: boolean
  readonly default?: Expression | undefined
  readonly autoIncrement: boolean
}

export interface Key {
  readonly name: string
  readonly kind: 'primary' | 'unique' | 'index'
  /** Places of its columns. */
  readonly columns: readonly number[]
}

export type Row = readonly Value[]

export interface Table {
  readonly kind: 'table'
  readonly name: string
  readonly columns: readonly Column[]
  readonly keys: readonly Key[]
  readonly checks: readonly Expression[]
  readonly temporary: boolean
  readonly rows: readonly Row[]
  /** Values of the AUTO_INCREMENT column, for all states of the table: one that was given is not given again, whatever is undone. */
  readonly ids: { next: bigint }
}

export interface View {
  readonly kind: 'view'
  readonly name: string
  readonly columns: readonly string[]
  readonly query: Query
  readonly text: string
}

export type Relation = Table | View

const textColumnType: ColumnType = { text: 'text', name: 'text', unsigned: false, binary: false }

export class Catalog {
  readonly #relations: Map<string, Relation>
  readonly #admit: (bytes: number) => void

  /** @param admit refuses a size that the thread has no room for */
  constructor(relations: ReadonlyMap<string, Relation>, admit: (bytes: number) => void) {
    this.#relations = new Map(relations)
    this.#admit = admit
  }

  /** As it is now; later changes to either do not reach the other. */
  copy(): Catalog {
    return new Catalog(this.#relations, this.#admit)
  }

  find(name: string): Relation | undefined {
    return this.#relations.get(name)
  }

  /** @throws StatementRefused where there is no such table */
  table(name: string): Table {
    const relation = this.find(name)
    if (relation?.kind !== 'table') refuse(unknownTable(name))
    return relation
  }

  relations(): readonly Relation[] {
    return [...this.#relations.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
  }

  put(relation: Relation): void {
    this.#relations.set(relation.name, relation)
    if (relation.kind === 'table') this.#checkSize()
  }

  remove(name: string): void {
    this.#relations.delete(name)
  }

  #checkSize(): void {
    let bytes = 0
    for (const relation of this.#relations.values())
      if (relation.kind === 'table') bytes += sizeOf(relation.rows)
    if (bytes > databaseBytes) refuse(tableFull)
    this.#admit(bytes)
  }
}

/** Sizes of rows that were counted before: most tables stay as they are. */
const sizes = new WeakMap<readonly Row[], number>()

function sizeOf(rows: readonly Row[]): number {
  const known = sizes.get(rows)
  if (known !== undefined) return known
  let bytes = 0
  for (const row of rows) bytes += bytesOfRow(row)
  sizes.set(rows, bytes)
  return bytes
}

/** A table of a task: its columns are texts. */
export function tableOfData({ name, columns, rows }: TableData): Table {
  return {
    kind: 'table',
    name,
    columns: columns.map((column) => ({
      name: column,
      type: textType,
      declared: textColumnType,
      nullable: true,
      autoIncrement: false,
    })),
    ...{ keys: [], checks: [], temporary: false, rows, ids: { next: 1n } },
  }
}

/** The place of a column; undefined where there is none of that name. */
export function placeOf(table: Table, name: string): number | undefined {
  const lower = name.toLowerCase()
  const place = table.columns.findIndex((column) => column.name.toLowerCase() === lower)
  return place < 0 ? undefined : place
}
