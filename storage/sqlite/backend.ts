/**
 * The backend of a store in a file.
 *
 * Invariants
 * - A store of an earlier release is read in a copy, so that its file stays as it is.
 */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { type CompiledQuery, Kysely, SqliteDialect, sql } from 'kysely'
import { bytesWithLog } from '../disk/disk-use.ts'
import { storageFaultOf } from '../disk/fault.ts'
import { lostStore } from '../disk/lost-store.ts'
import type { Backend, Connection, Terms } from '../tables/backend.ts'
import type { Schema } from '../tables/schema.ts'
import { isCurrent, migrate } from './migrations.ts'
import { isWritable, openCopy, openForReading } from './read-only.ts'
import { shrinkSqlite } from './shrink.ts'
import { createStoreFlush, kyselyDatabase, openSqlite } from './sqlite.ts'
import { createStatements } from './statements.ts'

export const sqliteBackend: Backend = {
  async exists(file) {
    const lost = lostStore(file)
    if (lost !== undefined) throw lost
    return existsSync(file)
  },
  lost: async (file) => lostStore(file),
  readsApart: async (file, shares) =>
    !isWritable(file) || (!shares && existsSync(file) && !isCurrentFile(file)),

  async connect(file) {
    const database = openSqlite(file)
    return connectTo({ database, flush: createStoreFlush(database, file) }, file)
  },

  async connectForReading(file) {
    const opened = openForReading(file)
    try {
      if (isCurrent(opened.database, file))
        return await connectTo({ database: opened.database, dispose: opened.close }, file)
    } catch (error) {
      opened.close()
      throw error
    }
    opened.close()
    const copy = openCopy(file)
    return connectTo({ database: copy.database, dispose: copy.close }, file)
  },

  isCurrent: async (file) => isCurrentFile(file),
  isWritable: async (file) => isWritable(file),

  bytes: bytesWithLog,
}

/** Which file is at a path. @throws StorageFault `missing` and others */
export async function fileIdentity(file: string): Promise<string> {
  try {
    const { dev, ino } = await stat(file, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    throw storageFaultOf(error, file)
  }
}

function isCurrentFile(file: string): boolean {
  using opened = openForReading(file)
  return isCurrent(opened.database, file)
}

interface Opened {
  readonly database: DatabaseSync
  /** Absent for a connection that only reads. */
  readonly flush?: () => Promise<void>
  /** Removes the copy of the store that a connection reads. */
  readonly dispose?: () => void
}

async function connectTo({ database, flush, dispose }: Opened, file: string): Promise<Connection> {
  const dialect = new SqliteDialect({ database: kyselyDatabase(database, file) })
  const db = new Kysely<Schema>({ dialect })
  const statements = createStatements({ db, database, file })

  async function close(): Promise<void> {
    try {
      await statements.settled()
      await flush?.()
    } finally {
      await db.destroy()
      // Kysely opens lazily and closes only what it opened.
      if (database.isOpen) database.close()
      dispose?.()
    }
  }

  try {
    await migrate(db, database, file)
    // A run's directory that a power cut leaves without a store would be taken for one whose store was lost.
    await flush?.()
    return {
      db,
      statements,
      terms: termsOver(statements, db),
      // A copied file is another one, a moved or a shared one is not.
      original: String((await stat(file, { bigint: true })).ino),
      flush: async () => flush?.(),
      identity: () => fileIdentity(file),
      shrink: async () => shrinkSqlite(database),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function termsOver({ first }: Connection['statements'], db: Kysely<Schema>): Terms {
  const mark: CompiledQuery<{ data_version: number }> = sql<{
    data_version: number
  }>`pragma data_version`.compile(db)
  return {
    changeMark: async () => (await first(mark, []))?.data_version ?? 0,
    numbersIn: (list) => sql<number>`(select value from json_each(${list}))`,
    meanIn: (key) => sql<number | null>`(select avg(value) from json_each(line, ${sql.lit(`$.${key}`)}))`,
    nextMetricsMark: sql<number>`(select max(rowid) + 1 from metrics)`,
  }
}
