/**
 * Keys and checks of a table's rows.
 *
 * Invariants
 * - No two rows have the same value of a unique key, unless a part of it is NULL.
 */
import { sqlFailure } from '../database.ts'
import { type Context, conditionOf, Scope, type Source } from '../expressions/scope.ts'
import { duplicateEntry, refuse } from '../failure.ts'
import { keyOf, toText, truth, type Value } from '../values/value.ts'
import type { Key, Row, Table } from './catalog.ts'

/** Where the values of the unique keys are. */
export class UniqueKeys {
  readonly #table: Table
  readonly #keys: readonly Key[]
  readonly #rows: readonly Map<string, Row>[]

  constructor(table: Table) {
    this.#table = table
    this.#keys = table.keys.filter(({ kind }) => kind !== 'index')
    this.#rows = this.#keys.map(() => new Map())
    for (const row of table.rows) this.add(row)
  }

  /** A row with which another one would clash, other than `except`. */
  clash(row: Row, except?: Row): { readonly row: Row; readonly key: Key } | undefined {
    for (const [at, key] of this.#keys.entries()) {
      const value = this.#value(key, row)
      const found = value === undefined ? undefined : this.#rows[at]?.get(value)
      if (found !== undefined && found !== except) return { row: found, key }
    }
    return undefined
  }

  /** @throws StatementRefused where the row clashes with another one */
  check(row: Row, except?: Row): void {
    const clash = this.clash(row, except)
    if (clash === undefined) return
    const entry = clash.key.columns.map((place) => this.#shown(row, place)).join('-')
    refuse(duplicateEntry(entry, `${this.#table.name}.${clash.key.name}`))
  }

  add(row: Row): void {
    for (const [at, key] of this.#keys.entries()) {
      const value = this.#value(key, row)
      if (value !== undefined) this.#rows[at]?.set(value, row)
    }
  }

  remove(row: Row): void {
    for (const [at, key] of this.#keys.entries()) {
      const value = this.#value(key, row)
      if (value !== undefined && this.#rows[at]?.get(value) === row) this.#rows[at]?.delete(value)
    }
  }

  #shown(row: Row, place: number): string {
    const value = row[place] ?? null
    return value === null ? 'NULL' : toText(value, this.#table.columns[place]?.type)
  }

  #value({ columns }: Key, row: Row): string | undefined {
    const parts: string[] = []
    for (const place of columns) {
      const value: Value = row[place] ?? null
      const column = this.#table.columns[place]
      if (value === null || column === undefined) return undefined
      parts.push(keyOf(value, column.type))
    }
    return parts.join('\u0000')
  }
}

/** Refuses a row that breaks a CHECK. */
export function checksOf(table: Table, context: Context): (row: Row) => void {
  if (table.checks.length === 0) return () => {}
  const source: Source = { alias: table.name, columns: table.columns, row: null }
  const scope = scopeOf(source, context)
  const conditions = table.checks.map((check) => scope.compile(check))
  const broken = conditions.map((compiled) =>
    conditionOf({ ...compiled, get: () => negated(compiled.get()) }),
  )
  return (row) => {
    source.row = row
    const at = broken.findIndex((isBroken) => isBroken())
    if (at >= 0)
      refuse(sqlFailure(3819, 'HY000', `Check constraint '${table.name}_chk_${at + 1}' is violated.`))
  }
}

function negated(value: Value): Value {
  return value === null ? null : truth(value === 0n)
}

/** A scope that sees the columns of one table. */
export function scopeOf(source: Source, context: Context): Scope {
  const scope = new Scope({ context })
  scope.sources = [source]
  scope.visible = source.columns.map((column, at) => ({
    ...column,
    sources: [source],
    compiled: scope.at(source, at),
  }))
  return scope
}
