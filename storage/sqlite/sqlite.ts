/**
 * SQLite for Kysely: `node:sqlite` behind the interface that Kysely's SqliteDialect asks for.
 *
 * Invariants
 * - One connection per process and store; other processes read and write the same file (WAL).
 * - A statement text is prepared once and then reused; a stream has a statement of its own, because
 *   a statement that is being iterated cannot run for another caller.
 * - A transaction takes the write lock at its beginning, so it waits there and never fails midway
 *   because another process wrote (SQLITE_BUSY_SNAPSHOT).
 * - The caller receives the error that ended a transaction: SQLite rolls back by itself when the disk is full, and
 *   a second roll-back is no fault.
 * - Every error leaves as a StorageFault that names the file.
 * - [STORE-FLUSH-1] A flush covers every transaction of this process that was committed before the call.
 */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { createFileFlush } from '../../machine/files/file-flush.ts'
import { storageFaultOf } from '../disk/fault.ts'

/** Waiting for another writer blocks this process's thread; writers here hold the lock for milliseconds. */
const busyTimeoutMs = 5_000

/** Distinct statement texts kept prepared; lists of ids of many lengths would otherwise pile up. */
const preparedLimit = 256

const nothingDone = { changes: 0, lastInsertRowid: 0 } as const

/**
 * Opens the file in WAL mode.
 * @param waitMs how long a write waits for another writer
 * @throws StorageFault the file cannot be opened or is no database
 */
export function openSqlite(file: string, waitMs: number = busyTimeoutMs): DatabaseSync {
  try {
    const isNew = !existsSync(file) || statSync(file).size === 0
    const database = new DatabaseSync(file, { timeout: waitMs, enableForeignKeyConstraints: false })
    try {
      // Lets `clean` give back freed pages without copying the whole file.
      if (isNew) database.exec('pragma auto_vacuum = incremental')
      database.exec('pragma journal_mode = wal')
      // NORMAL writes commits to the log without waiting for the disk: `Store.flushed` does that once for many commits.
      database.exec('pragma synchronous = normal')
    } catch (error) {
      database.close()
      throw error
    }
    return database
  } catch (error) {
    throw storageFaultOf(error, `store ${file}`)
  }
}

/** Adapts a database for Kysely's SqliteDialect. */
export function kyselyDatabase(database: DatabaseSync, file: string): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>()

  function guarded<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw storageFaultOf(error, `store ${file}`)
    }
  }

  function adapt(sql: string, statement: StatementSync): SqliteStatement {
    const isDone = () => sql === 'rollback' && !database.isTransaction
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => guarded(() => statement.all(...(parameters as SQLInputValue[]))),
      run: (parameters) =>
        isDone() ? nothingDone : guarded(() => statement.run(...(parameters as SQLInputValue[]))),
      iterate: (parameters) =>
        guarded(() => database.prepare(sql).iterate(...(parameters as SQLInputValue[]))),
    }
  }

  return {
    close: () => guarded(() => database.close()),
    prepare(sql) {
      const known = prepared.get(sql)
      if (known !== undefined) return known
      const text = sql === 'begin' ? 'begin immediate' : sql
      const statement = guarded(() => adapt(text, database.prepare(text)))
      if (prepared.size >= preparedLimit) {
        for (const oldest of prepared.keys()) {
          prepared.delete(oldest)
          break
        }
      }
      prepared.set(sql, statement)
      return statement
    },
  }
}

/**
 * @param flushLog flushes the write-ahead log; a checkpoint flushes both files by itself, so pages that have left the log are on
 *   the disk
 * @returns flushes the store; it throws a StorageFault
 */
export function createStoreFlush(
  database: DatabaseSync,
  file: string,
  flushLog: () => Promise<void> = createFileFlush(`${file}-wal`),
): () => Promise<void> {
  const changes = database.prepare('select total_changes() as count')
  // Changes of the schema are not counted: the first flush is made in any case.
  let flushedChanges = -1

  return async () => {
    if (!database.isOpen) return
    const count = Number(changes.get()?.count)
    // The changes of an open transaction count already, and are committed later.
    const isCommitted = !database.isTransaction
    if (count === flushedChanges) return
    try {
      await flushLog()
    } catch (error) {
      throw storageFaultOf(error, `store ${file}`)
    }
    if (isCommitted) flushedChanges = Math.max(flushedChanges, count)
  }
}
