/**
 * Databases in one thread: MySQL's statements in, results out.
 *
 * Invariants
 * - Every session has a database of its own; nothing passes from one to another. One whose statements defined
 *   nothing is emptied and used again; one in which an agent made or altered anything is thrown away.
 * - Whatever a statement is, it gives a result: rows, a count, MySQL's failure, or that time was up.
 * - The same tables, identity and statements give the same results.
 */
import { seedOf, uniforms } from '../../../identity/identity.ts'
import { type Cell, type StatementLimits, type StatementResult, sqlFailure, tooLong } from '../database.ts'
import type { StateHash, TableData } from '../item.ts'
import { hashOfRows, hashOfTables } from '../state-hash.ts'
import { dropTable, readTable, textTable } from './definition.ts'
import { databaseName, failureOf, StatementRefused } from './failure.ts'
import { allFunctions } from './functions.ts'
import type { StatementContext } from './operators.ts'
import { type Connection, type RunResult, Sqlite } from './sqlite.ts'
import { type Translation, translate } from './statement.ts'
import { textOfDouble, toText, type Value } from './value.ts'

/** Characters of the longest statement. */
const statementLength = 100_000

/** Empty databases that are kept for the next sessions: making one is half of what a session costs. */
const keptEmpty = 32

/** All databases of this thread. */
export interface Engine {
  open(tables: readonly TableData[], identity: string): EngineDatabase
}

/** One database; not to be used after it is closed. */
export interface EngineDatabase {
  /** @param ordinal number of the statement in its session: its random functions are seeded by it */
  execute(sql: string, ordinal: number, limits: StatementLimits): StatementResult
  stateHash(tables: readonly TableData[], limits: StatementLimits): StateHash | undefined
  close(): void
}

/** Loads SQLite into this thread. */
export async function createEngine(): Promise<Engine> {
  const context: StatementContext = { random: () => 0 }
  const sqlite = await Sqlite.load(allFunctions(context))
  const empty: Connection[] = []
  return {
    open(tables, identity) {
      const connection = empty.pop() ?? sqlite.open()
      let defined = false
      for (const { name, columns, rows } of tables) {
        const { create, fill } = textTable(name, columns)
        require(connection.runTrusted(create))
        require(connection.runTrusted(fill, JSON.stringify(rows)))
      }
      return {
        execute(sql, ordinal, limits) {
          let draw: (() => number) | undefined
          context.random = () => {
            draw ??= uniforms(seedOf(0, identity, `statement ${ordinal}`))
            return draw()
          }
          return executed(connection, sql, limits, () => {
            defined = true
          })
        },
        stateHash(wanted, limits) {
          return stateHash(connection, wanted, limits)
        },
        close() {
          const emptied = !defined && empty.length < keptEmpty && emptiedOf(connection, tables)
          if (emptied) empty.push(connection)
          else connection.close()
        },
      }
    },
  }
}

/** Whether nothing is left in it. */
function emptiedOf(connection: Connection, tables: readonly TableData[]): boolean {
  return tables.every(({ name }) => connection.runTrusted(dropTable(name)).kind === 'done')
}

function require(result: RunResult): void {
  if (result.kind === 'failed') throw new Error(`tables of a task: ${result.message}`)
}

function executed(
  connection: Connection,
  sql: string,
  limits: StatementLimits,
  onDefinition: () => void,
): StatementResult {
  if (sql.length > statementLength) return { kind: 'failed', failure: tooLong }
  try {
    const translation = translate(sql)
    if (translation.defines) onDefinition()
    return ran(connection, translation, limits)
  } catch (error) {
    if (error instanceof StatementRefused) return { kind: 'failed', failure: error.failure }
    throw error
  }
}

function ran(connection: Connection, translation: Translation, limits: StatementLimits): StatementResult {
  const deadline = performance.now() + limits.deadlineMs
  let last: StatementResult = { kind: 'done', affected: 0 }
  for (const statement of translation.statements) {
    const result = connection.run(statement, { ...limits, deadline })
    last = resultOf(result, translation)
    if (last.kind !== 'rows' && last.kind !== 'done') return last
  }
  if (translation.answer === 'existing' && last.kind === 'rows' && last.rows.length === 0)
    return {
      kind: 'failed',
      failure: sqlFailure(1146, '42S02', `Table '${databaseName}.${translation.table ?? ''}' doesn't exist`),
    }
  return last
}

function resultOf(result: RunResult, translation: Translation): StatementResult {
  switch (result.kind) {
    case 'rows':
      return { kind: 'rows', rows: result.rows.map((row) => row.map(cellOf)), truncated: result.truncated }
    case 'done':
      return { kind: 'done', affected: result.changes }
    case 'failed':
      return { kind: 'failed', failure: failureOf(result.code, result.message, translation) }
    case 'refused':
      return { kind: 'failed', failure: result.failure }
    case 'interrupted':
      return { kind: 'timed_out' }
  }
}

function cellOf(value: Value): Cell {
  if (value === null) return null
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value === 'bigint') return { kind: 'integer', text: value.toString() }
  if (typeof value === 'number') return { kind: 'double', text: textOfDouble(value) }
  return { kind: 'bytes', text: toText(value) }
}

function stateHash(
  connection: Connection,
  tables: readonly TableData[],
  { deadlineMs }: StatementLimits,
): StateHash | undefined {
  const deadline = performance.now() + deadlineMs
  const hashes: StateHash[] = []
  for (const { name, columns } of tables) {
    const result = connection.run(readTable(name, columns), {
      deadline,
      rows: Number.POSITIVE_INFINITY,
      bytes: Number.POSITIVE_INFINITY,
    })
    if (result.kind !== 'rows') return undefined
    hashes.push(
      hashOfRows(result.rows.map((row) => row.map((value) => (value === null ? null : toText(value))))),
    )
  }
  return hashOfTables(hashes)
}
