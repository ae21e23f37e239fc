/**
 * One session: a database, its variables and its transaction, and the statements that change them.
 *
 * Invariants
 * - A statement that fails changes nothing but the count of rows.
 * - A definition commits what is open; ROLLBACK goes back to the last commit.
 */

import type { Budget } from './budget.ts'
import { type Cell, type StatementResult, sqlFailure } from './database.ts'
import { compile } from './expressions/compile.ts'
import { type Context, Scope, type SourceColumn } from './expressions/scope.ts'
import { checkSetting } from './expressions/system-variables.ts'
import { databaseName, refuse, unknownTable } from './failure.ts'
import { compileQuery } from './queries/query.ts'
import type { Query, Setting, Statement } from './syntax/syntax.ts'
import type { Catalog, Row } from './tables/catalog.ts'
import { remove, update } from './tables/changes.ts'
import * as definitions from './tables/definitions.ts'
import { definitionText } from './tables/definitions.ts'
import { type Change, insert } from './tables/insert.ts'
import type { Type } from './values/type.ts'
import { cellOf, isTrue, toText, type Value } from './values/value.ts'

/** The limits of one statement, and its random numbers. */
export interface StatementTools {
  readonly budget: Budget
  readonly random: () => number
  readonly rows: number
  readonly bytes: number
}

interface Savepoint {
  readonly name: string
  readonly catalog: Catalog
}

const defining = new Set<Statement['kind']>([
  ...([
    'truncate',
    'create table',
    'create view',
    'create index',
    'drop index',
    'drop',
    'alter',
    'rename',
  ] as const),
])

export class Session {
  #catalog: Catalog
  /** The database as it was when the transaction began. */
  #before: Catalog | undefined
  #savepoints: Savepoint[] = []
  #autocommit = true
  #lastInsertId = 0n
  #rowCount = 0n
  readonly #variables = new Map<string, { readonly value: Value; readonly type: Type }>()

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /** The database as statements see it now. */
  get catalog(): Catalog {
    return this.#catalog
  }

  /** @throws StatementRefused @throws StatementOverdue */
  run(statement: Statement, tools: StatementTools): StatementResult {
    const catalog = this.#catalog.copy()
    const session = {
      lastInsertId: this.#lastInsertId,
      rowCount: this.#rowCount,
      autocommit: this.#autocommit,
    }
    const { budget, random } = tools
    const context: Context = {
      budget,
      random,
      catalog,
      session,
      variables: this.#variables,
      compile,
      query: compileQuery,
    }
    this.#rowCount = -1n
    if (defining.has(statement.kind)) this.#commit()
    const result = this.#execute(statement, context, tools)
    if (result.kind === 'done') this.#rowCount = BigInt(result.affected)
    return result
  }

  #execute(statement: Statement, context: Context, tools: StatementTools): StatementResult {
    switch (statement.kind) {
      case 'query':
        return this.#query(statement.query, context, tools)
      case 'show':
        if (statement.existing !== undefined && context.catalog.find(statement.existing) === undefined)
          refuse(unknownTable(statement.existing))
        return this.#query(statement.query, context, tools)
      case 'show create': {
        const relation = context.catalog.find(statement.table) ?? refuse(unknownTable(statement.table))
        const text = (value: string): Cell => ({ kind: 'text', text: value })
        return {
          kind: 'rows',
          rows: [[text(relation.name), text(definitionText(relation))]],
          truncated: false,
        }
      }
      case 'insert':
        return this.#changed(insert(statement, context), context)
      case 'update':
        return this.#changed(update(statement, context), context)
      case 'delete':
        return this.#changed(remove(statement, context), context)
      case 'set':
        for (const setting of statement.settings) this.#set(setting, context)
        return done(0)
      case 'transaction':
        this.#transact(statement)
        return done(0)
      case 'do':
        for (const expression of statement.expressions) new Scope({ context }).compile(expression).get()
        return done(0)
      case 'use':
        if (statement.name.toLowerCase() !== databaseName) refuse(deniedDatabase(statement.name))
        return done(0)
      default:
        return this.#define(statement, context)
    }
  }

  #query(query: Query, context: Context, { rows: most, bytes }: StatementTools): StatementResult {
    const compiled = compileQuery(query, new Scope({ context }))
    return shown(compiled.run(), compiled.columns, most, bytes)
  }

  #changed({ tables, affected, insertId }: Change, { catalog }: Context): StatementResult {
    this.#begin()
    for (const table of tables) catalog.put(table)
    this.#catalog = catalog
    if (insertId !== undefined) this.#lastInsertId = insertId
    return done(affected)
  }

  #define(statement: Statement, context: Context): StatementResult {
    const { catalog } = context
    let affected = 0
    switch (statement.kind) {
      case 'truncate':
        catalog.put({ ...catalog.table(statement.table), rows: [], ids: { next: 1n } })
        break
      case 'create table':
        affected = definitions.createTable(statement, context)
        break
      case 'create view':
        definitions.createView(statement, context)
        break
      case 'create index':
        definitions.createIndex(statement, context)
        break
      case 'drop index':
        definitions.dropIndex(statement, context)
        break
      case 'drop':
        definitions.drop(statement, context)
        break
      case 'alter':
        affected = definitions.alter(statement, context)
        break
      case 'rename':
        definitions.renameTables(statement.pairs, context)
        break
    }
    this.#catalog = catalog
    return done(affected)
  }

  #set({ scope, name, value }: Setting, context: Context): void {
    const compiled = new Scope({ context }).compile(value)
    const given = compiled.get()
    if (scope === 'user') this.#variables.set(name, { value: given, type: compiled.type })
    else if (name === 'autocommit') this.#setAutocommit(given)
    else checkSetting(name, given)
  }

  #setAutocommit(value: Value): void {
    const text = value === null ? '' : toText(value).toLowerCase()
    if (!['0', '1', 'on', 'off'].includes(text))
      refuse(sqlFailure(1231, '42000', `Variable 'autocommit' can't be set to the value of '${text}'`))
    this.#autocommit = text === 'on' || (text !== 'off' && isTrue(value as string))
    if (this.#autocommit) this.#commit()
  }

  /** Remembers where a rollback goes, unless every statement is committed at once. */
  #begin(): void {
    if (!this.#autocommit) this.#before ??= this.#catalog
  }

  #commit(): void {
    this.#before = undefined
    this.#savepoints = []
  }

  #transact({ action, name = '' }: Extract<Statement, { kind: 'transaction' }>): void {
    const at = this.#savepoints.findIndex((savepoint) => savepoint.name === name)
    switch (action) {
      case 'begin':
        this.#commit()
        this.#before = this.#catalog
        return
      case 'commit':
        this.#commit()
        return
      case 'rollback':
        this.#catalog = this.#before ?? this.#catalog
        this.#commit()
        return
      case 'savepoint':
        if (this.#autocommit && this.#before === undefined) return
        this.#before ??= this.#catalog
        if (at >= 0) this.#savepoints.splice(at, 1)
        this.#savepoints.push({ name, catalog: this.#catalog })
        return
      case 'rollback to':
      case 'release':
        if (at < 0) refuse(sqlFailure(1305, '42000', `SAVEPOINT ${name} does not exist`))
        if (action === 'rollback to') this.#catalog = this.#savepoints[at]?.catalog ?? this.#catalog
        this.#savepoints.length = action === 'release' ? at : at + 1
    }
  }
}

function done(affected: number): StatementResult {
  return { kind: 'done', affected }
}

function deniedDatabase(name: string) {
  return sqlFailure(1044, '42000', `Access denied for user 'agent'@'%' to database '${name}'`)
}

/** As many rows as may be given. */
function shown(
  all: readonly Row[],
  columns: readonly SourceColumn[],
  most: number,
  bytes: number,
): StatementResult {
  const rows: (readonly Cell[])[] = []
  let left = bytes
  for (const row of all) {
    const cells = row.map((value, at) => cellOf(value, columns[at]?.type as Type))
    for (const cell of cells) left -= cell?.text.length ?? 0
    if (rows.length >= most || (left < 0 && rows.length > 0)) return { kind: 'rows', rows, truncated: true }
    rows.push(cells)
  }
  return { kind: 'rows', rows, truncated: false }
}
