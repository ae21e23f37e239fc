/**
 * The store: all that a home directory knows of its runs, in one SQLite file.
 *
 * Invariants
 * - Every write is idempotent by identity and says who was first.
 * - Processes share the file: the command line reads while workers write. Within a process all who open
 *   the same file share one connection: a second one would wait for the first with its thread blocked.
 * - Opening creates or migrates the schema, or refuses by name and leaves the file as it was.
 *
 * @example
 * await using store = await openStore('.perdure/store.db')
 * await store.runs.insert({ id: runId('demo'), config: {}, created: Date.now() })
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import type { LeaseStore } from '../envs/lease.ts'
import { type Actions, createActions } from './actions.ts'
import { type Audit, createAudit } from './audit.ts'
import { createEpisodes, type Episodes } from './episodes.ts'
import { createEvaluations, type Evaluations } from './evaluations.ts'
import { StorageFault } from './fault.ts'
import { createGroups, type Groups } from './groups.ts'
import { createHoldings, type Holdings } from './holdings.ts'
import { openLeases } from './leases.ts'
import { migrate } from './migrations.ts'
import { createObservations, type Observations } from './observations.ts'
import { createRunMetrics, type RunMetrics } from './run-metrics.ts'
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
  readonly metrics: RunMetrics
  readonly audit: Audit
  readonly leases: LeaseStore
  readonly holdings: Holdings
  close(): Promise<void>
}

interface Connection {
  readonly db: Kysely<Schema>
  readonly database: DatabaseSync
  readonly leases: LeaseStore
}

/** Connections of this process by file, with the number of stores that use them. */
const connections = new Map<string, { readonly opening: Promise<Connection>; users: number }>()

/**
 * Opens the store of a file; close every store that was opened.
 * @param options.create false refuses a file that does not exist; true by default
 * @throws StorageFault `missing`, `newer_schema`, `corrupt`, `no_permission`, `locked`, `disk_full`, `io`
 */
export async function openStore(file: string, options: { create?: boolean } = {}): Promise<Store> {
  const key = resolve(file)
  if (options.create === false && !existsSync(key))
    throw new StorageFault('missing', `store ${file} does not exist; check --home, or start a run there`)
  const shared = connections.get(key) ?? { opening: connect(key), users: 0 }
  connections.set(key, shared)
  // Counted before the first await: whoever closes meanwhile must see this user.
  shared.users += 1
  const connection = await shared.opening.catch((error: unknown) => {
    if (connections.get(key) === shared) connections.delete(key)
    throw error
  })
  const { db, leases } = connection

  let closed = false
  async function close(): Promise<void> {
    if (closed) return
    closed = true
    shared.users -= 1
    if (shared.users > 0) return
    connections.delete(key)
    await disconnect(connection)
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
    metrics: createRunMetrics(db),
    audit: createAudit(db),
    leases,
    holdings: createHoldings(db, connection.database),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function connect(file: string): Promise<Connection> {
  const database = openSqlite(file)
  const dialect = new SqliteDialect({ database: kyselyDatabase(database, file) })
  const db = new Kysely<Schema>({ dialect })
  try {
    await migrate(db, database, file)
    return { db, database, leases: await openLeases(db) }
  } catch (error) {
    await disconnect({ db, database })
    throw error
  }
}

async function disconnect({ db, database }: Pick<Connection, 'db' | 'database'>): Promise<void> {
  await db.destroy()
  // Kysely opens lazily and closes only what it opened.
  if (database.isOpen) database.close()
}
