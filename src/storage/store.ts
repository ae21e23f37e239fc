/**
 * The store: all that a home directory knows of its runs, in one SQLite file.
 *
 * Invariants
 * - Every write is idempotent by identity and says who was first.
 * - Processes share the file: the command line reads while workers write.
 * - Opening creates or migrates the schema, or refuses by name and leaves the file as it was.
 *
 * @example
 * await using store = await openStore('.perdure/store.db')
 * await store.runs.insert({ id: runId('demo'), config: {}, created: Date.now() })
 */
import { existsSync } from 'node:fs'
import { Kysely, SqliteDialect } from 'kysely'
import { type Actions, createActions } from './actions.ts'
import { createEpisodes, type Episodes } from './episodes.ts'
import { createEvaluations, type Evaluations } from './evaluations.ts'
import { StorageFault } from './fault.ts'
import { createGroups, type Groups } from './groups.ts'
import { migrate } from './migrations.ts'
import { createObservations, type Observations } from './observations.ts'
import { createRuns, type Runs } from './runs.ts'
import type { Schema } from './schema.ts'
import { kyselyDatabase, openSqlite } from './sqlite.ts'
import { createUpdates, type Updates } from './updates.ts'

export interface Store extends AsyncDisposable {
  readonly file: string
  readonly runs: Runs
  readonly groups: Groups
  readonly episodes: Episodes
  readonly observations: Observations
  readonly actions: Actions
  readonly updates: Updates
  readonly evaluations: Evaluations
  close(): Promise<void>
}

/**
 * Opens the store of a file, once per process.
 * @param options.create false refuses a file that does not exist; true by default
 * @throws StorageFault `missing`, `newer_schema`, `corrupt`, `no_permission`, `locked`, `disk_full`, `io`
 */
export async function openStore(file: string, options: { create?: boolean } = {}): Promise<Store> {
  if (options.create === false && !existsSync(file))
    throw new StorageFault('missing', `store ${file} does not exist; check --home, or start a run there`)
  const database = openSqlite(file)
  // Kysely opens lazily and closes only what it opened, hence the explicit closing of the database.
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: kyselyDatabase(database, file) }) })
  const close = async (): Promise<void> => {
    await db.destroy()
    if (database.isOpen) database.close()
  }
  try {
    await migrate(db, database, file)
  } catch (error) {
    await close()
    throw error
  }
  return {
    file,
    runs: createRuns(db),
    groups: createGroups(db),
    episodes: createEpisodes(db),
    observations: createObservations(db),
    actions: createActions(db),
    updates: createUpdates(db),
    evaluations: createEvaluations(db),
    close,
    [Symbol.asyncDispose]: close,
  }
}
