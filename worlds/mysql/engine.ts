/**
 * Databases in one thread: MySQL's statements in, results out. It is used alone by `createEngine`, and knows nothing of tasks.
 *
 * The engine reads MySQL's dialect and runs it over rows in memory, without another database beneath: each expression
 * has MySQL's type, so that values, conversions and errors are MySQL's.
 *
 * Invariants
 * - Every session has a database of its own; nothing passes from one to another.
 * - Whatever a statement is, it gives a result: rows, a count, MySQL's failure, or that time was up.
 * - The same tables, identity and statements give the same results.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import { Budget, statementLength, threadBytes } from './budget.ts'
import {
  type StateHash,
  type StatementLimits,
  type StatementResult,
  type TableData,
  tooLong,
} from './database.ts'
import { SearchOverdue } from './expressions/match-limit.ts'
import { outOfMemory, refuse, StatementOverdue, StatementRefused } from './failure.ts'
import { Session } from './session.ts'
import { hashOfRows, hashOfTables } from './state-hash.ts'
import { parsed } from './syntax/statement-parser.ts'
import { Catalog, placeOf, type Relation, tableOfData } from './tables/catalog.ts'
import { toText } from './values/value.ts'

/** All databases of this thread. */
export interface Engine {
  open(tables: readonly TableData[], identity: string): EngineDatabase
}

/** One database; not to be used after it is closed. */
export interface EngineDatabase {
  /** @param ordinal number of the statement in its session: its random functions are seeded by it */
  execute(sql: string, ordinal: number, limits: StatementLimits): StatementResult
  stateHash(tables: readonly TableData[]): StateHash | undefined
  close(): void
}

export function createEngine(): Engine {
  const held = new Map<number, number>()
  let opened = 0
  return {
    open(tables, identity) {
      const number = opened++
      const admit = (bytes: number) => {
        const all = [...held.values()].reduce((sum, each) => sum + each, bytes - (held.get(number) ?? 0))
        if (all > threadBytes) refuse(outOfMemory)
        held.set(number, bytes)
      }
      const relations = tables.map((table): [string, Relation] => [table.name, tableOfData(table)])
      const session = new Session(new Catalog(new Map(relations), admit))
      return {
        execute: (sql, ordinal, limits) => executed(session, sql, `${identity} ${ordinal}`, limits),
        stateHash: (wanted) => stateHash(session.catalog, wanted),
        close: () => void held.delete(number),
      }
    },
  }
}

function executed(session: Session, sql: string, seed: string, limits: StatementLimits): StatementResult {
  if (sql.length > statementLength) return { kind: 'failed', failure: tooLong }
  let draw: (() => number) | undefined
  const random = () => {
    draw ??= uniforms(seedOf(0, 'statement', seed))
    return draw()
  }
  const budget = new Budget(performance.now() + limits.deadlineMs)
  try {
    return session.run(parsed(sql), { budget, random, rows: limits.rows, bytes: limits.bytes })
  } catch (error) {
    return resultOf(error)
  }
}

function resultOf(error: unknown): StatementResult {
  if (error instanceof StatementRefused) return { kind: 'failed', failure: error.failure }
  if (error instanceof StatementOverdue || error instanceof SearchOverdue) return { kind: 'timed_out' }
  // A text or a list that is longer than JavaScript has.
  if (error instanceof RangeError) return { kind: 'failed', failure: outOfMemory }
  throw error
}

/** The hash of the columns that the tables had at first; undefined where one of them is gone. */
function stateHash(catalog: Catalog, tables: readonly TableData[]): StateHash | undefined {
  const hashes: StateHash[] = []
  for (const { name, columns } of tables) {
    const table = catalog.find(name)
    if (table?.kind !== 'table') return undefined
    const places = columns.map((column) => placeOf(table, column))
    if (places.includes(undefined)) return undefined
    const rows = table.rows.map((row) =>
      (places as number[]).map((place) => {
        const value = row[place] ?? null
        return value === null ? null : toText(value, table.columns[place]?.type)
      }),
    )
    hashes.push(hashOfRows(rows))
  }
  return hashOfTables(hashes)
}
