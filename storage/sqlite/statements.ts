/**
 * Statements of every turn: prepared once and kept, and their writes committed together.
 *
 * An episode writes twice a turn, and hundreds of them play in one process. A transaction of each write costs more than the
 * write: the lock, the pages of the log, the way through the query builder.
 *
 * Invariants
 * - [STATEMENT-1] A write returns once its transaction is committed, and not before.
 * - [STATEMENT-2] A failed write does not fail the others: the transaction is rolled back, and each write is tried alone.
 * - [STATEMENT-3] A statement never runs inside a transaction that another part of this process has begun on the connection.
 * - A write that comes alone is committed at once; under load writes are collected for some milliseconds.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import { type StorageFault, storageFaultOf } from '../disk/fault.ts'
import type { Statements } from '../tables/backend.ts'
import { collectWrites } from '../tables/collected-writes.ts'
import type { Schema } from '../tables/schema.ts'

interface Write {
  readonly statement: StatementSync
  readonly parameters: readonly SQLInputValue[]
  readonly resolve: (changes: number) => void
  readonly reject: (fault: StorageFault) => void
}

/** @param of.db who uses the same connection, and may be in a transaction on it */
export function createStatements(of: {
  readonly db: Kysely<Schema>
  readonly database: DatabaseSync
  readonly file: string
}): Statements {
  const { db, database, file } = of
  const prepared = new Map<string, StatementSync>()
  const collected = collectWrites(commitAll)
  const faultOf = (error: unknown) => storageFaultOf(error, `store ${file}`)

  function statementOf({ sql }: { readonly sql: string }): StatementSync {
    const known = prepared.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }

  /** Runs the work once no transaction is open on the connection. */
  async function outsideTransactions<Result>(work: () => Result): Promise<Result> {
    try {
      return database.isTransaction ? await db.connection().execute(async () => work()) : work()
    } catch (error) {
      throw faultOf(error)
    }
  }

  async function commitAll(writes: readonly Write[]): Promise<void> {
    try {
      await outsideTransactions(() => commit(writes))
    } catch (error) {
      for (const { reject } of writes) reject(faultOf(error))
    }
  }

  /** @throws where no write was tried */
  function commit(writes: readonly Write[]): void {
    if (writes.length === 1) {
      commitEach(writes)
      return
    }
    statementOf({ sql: 'begin immediate' }).run()
    let changes: readonly number[]
    try {
      changes = writes.map(run)
      statementOf({ sql: 'commit' }).run()
    } catch {
      // SQLite takes a transaction back by itself where the disk is full.
      if (database.isTransaction) statementOf({ sql: 'rollback' }).run()
      commitEach(writes)
      return
    }
    for (const [index, { resolve }] of writes.entries()) resolve(changes[index] ?? 0)
  }

  /** Once the lock cannot be had, those after it do not wait for it in turn. */
  function commitEach(writes: readonly Write[]): void {
    let locked: StorageFault | undefined
    for (const write of writes) {
      if (locked === undefined)
        try {
          write.resolve(run(write))
          continue
        } catch (error) {
          const fault = faultOf(error)
          write.reject(fault)
          if (fault.kind === 'locked') locked = fault
          continue
        }
      write.reject(locked)
    }
  }

  return {
    all: (query, parameters) =>
      outsideTransactions(() => statementOf(query).all(...(parameters as SQLInputValue[])) as never[]),

    first: (query, parameters) =>
      outsideTransactions(() => statementOf(query).get(...(parameters as SQLInputValue[])) as never),

    async write(query, parameters) {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      try {
        const statement = statementOf(query)
        collected.add({ statement, parameters: parameters as SQLInputValue[], resolve, reject })
      } catch (error) {
        throw faultOf(error)
      }
      return promise
    },

    settled: () => collected.settled(),
  }
}

function run({ statement, parameters }: Write): number {
  return Number(statement.run(...parameters).changes)
}
