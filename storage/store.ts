/**
 * The store: all that a home directory knows of its runs, in one SQLite file.
 *
 * Invariants
 * - [STORE-1] Every write is idempotent by identity and says who was first.
 * - [STORE-2] Processes share the file: the command line reads while workers write. Within a process all who open the
 *   same file share one connection: a second one would wait for the first with its thread blocked.
 * - [STORE-3] Opening creates or migrates the schema, or refuses by name and leaves the file as it was.
 * - [STORE-4] A reader needs no write permission; it reads a store of an earlier release in a copy. Readers never write, and
 *   never wait for a write.
 * - [STORE-5] After `flushed` a power cut loses nothing that this process has committed. A power cut only loses the latest
 *   commits: the file is then one that this store was at an earlier moment.
 *
 * @example
 * await using store = await openStore('.perdure/store.db')
 * await store.runs.insert({ id: runId('demo'), config: {}, created: Date.now() })
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import type { LeaseStore } from '../machine/processes/lease.ts'
import { StorageFault } from './disk/fault.ts'
import { lostStore } from './disk/lost-store.ts'
import { type Audit, createAudit } from './records/audit.ts'
import { createEvaluations, type Evaluations } from './records/evaluations.ts'
import { createExperiments, type Experiments } from './records/experiments.ts'
import { createExperts, type Experts } from './records/experts.ts'
import { createFailingWorks, type FailingWorks } from './records/failing-work.ts'
import { createGroups, type Groups } from './records/groups.ts'
import { createHoldings, type Holdings } from './records/holdings.ts'
import { createNonces, type Nonces, openLeases } from './records/leases.ts'
import { createRunCosts, type RunCosts } from './records/run-costs.ts'
import { createRunMetrics, type RunMetrics } from './records/run-metrics.ts'
import { createRuns, type Runs } from './records/runs.ts'
import { createUpdates, type Updates } from './records/updates.ts'
import { isCurrent, migrate } from './sqlite/migrations.ts'
import { isWritable, openCopy, openForReading } from './sqlite/read-only.ts'
import type { Schema } from './sqlite/schema.ts'
import { createStoreFlush, kyselyDatabase, openSqlite } from './sqlite/sqlite.ts'
import { createStatements, type Statements } from './sqlite/statements.ts'
import { type Actions, createActions } from './trajectories/actions.ts'
import { type Answers, createAnswers } from './trajectories/answers.ts'
import { createEpisodeFeed, type EpisodeFeed } from './trajectories/episode-feed.ts'
import { createEpisodes, type Episodes } from './trajectories/episodes.ts'
import { createObservations, type Observations } from './trajectories/observations.ts'

export interface Store extends AsyncDisposable {
  readonly file: string
  readonly runs: Runs
  readonly groups: Groups
  readonly episodes: Episodes
  readonly feed: EpisodeFeed
  readonly observations: Observations
  readonly actions: Actions
  readonly answers: Answers
  readonly updates: Updates
  readonly evaluations: Evaluations
  readonly metrics: RunMetrics
  readonly audit: Audit
  readonly leases: LeaseStore
  readonly experiments: Experiments
  readonly experts: Experts
  readonly nonces: Nonces
  readonly failing: FailingWorks
  readonly costs: RunCosts
  readonly holdings: Holdings
  /** Settles when everything that this process has committed is on the disk. @throws StorageFault */
  flushed(): Promise<void>
  /** Flushes, and closes the connection with its last user. */
  close(): Promise<void>
}

interface Connection {
  readonly db: Kysely<Schema>
  readonly database: DatabaseSync
  readonly statements: Statements
  readonly leases: LeaseStore
  /** Absent for a connection that only reads. */
  readonly flush: (() => Promise<void>) | undefined
  /** Closes a connection that only reads, and removes its copy of the store. */
  readonly dispose?: (() => void) | undefined
}

export interface StoreOptions {
  /** False refuses a file that does not exist; true by default. */
  readonly create?: boolean
  /**
   * `read` opens for reading where nothing can be written, and where the store is of an earlier release, whose processes may be at
   * work on it; `look` always does, over a connection beside the one that
   * others of this process may have. `write` by default.
   */
  readonly access?: 'write' | 'read' | 'look'
}

/** Connections of this process by file, with the number of stores that use them. */
const connections = new Map<string, { readonly opening: Promise<Connection>; users: number }>()

/**
 * Opens the store of a file; close every store that was opened.
 * @throws StorageFault `missing`, `newer_schema`, `corrupt`, `no_permission`, `locked`, `disk_full`, `io`
 */
export async function openStore(file: string, options: StoreOptions = {}): Promise<Store> {
  const path = resolve(file)
  const lost = lostStore(path)
  if (lost !== undefined) throw lost
  if (options.create === false && !existsSync(path))
    throw new StorageFault('missing', `store ${file} does not exist; check --home, or start a run there`)
  const isForReading =
    options.access === 'look' ||
    (options.access === 'read' && (!isWritable(path) || (!connections.has(path) && isEarlier(path))))
  const key = isForReading ? `${path} (read-only)` : path
  const shared = connections.get(key) ?? {
    opening: isForReading ? connectForReading(path) : connect(path),
    users: 0,
  }
  connections.set(key, shared)
  // Counted before the first await: a caller that closes meanwhile must see this user.
  shared.users += 1
  const connection = await shared.opening.catch((error: unknown) => {
    if (connections.get(key) === shared) connections.delete(key)
    throw error
  })
  const { db, statements, leases } = connection
  const observations = createObservations(db, statements)
  const actions = createActions(db, statements)

  let closed = false
  async function close(): Promise<void> {
    if (closed) return
    closed = true
    shared.users -= 1
    if (shared.users > 0) return connection.flush?.()
    connections.delete(key)
    await disconnect(connection)
  }

  return {
    file,
    runs: createRuns(db, statements),
    groups: createGroups(db),
    episodes: createEpisodes({ db, statements, observations, actions }),
    feed: createEpisodeFeed(db, statements),
    observations,
    actions,
    answers: createAnswers(db, statements),
    updates: createUpdates(db),
    evaluations: createEvaluations(db),
    metrics: createRunMetrics(db),
    audit: createAudit(db),
    leases,
    experiments: createExperiments(db),
    experts: createExperts(db),
    nonces: createNonces(db),
    failing: createFailingWorks(db),
    costs: createRunCosts(db),
    holdings: createHoldings(db, connection.database),
    flushed: async () => connection.flush?.(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** True for a store that lacks migrations. */
function isEarlier(file: string): boolean {
  if (!existsSync(file)) return false
  using opened = openForReading(file)
  return !isCurrent(opened.database, file)
}

async function connect(file: string): Promise<Connection> {
  const database = openSqlite(file)
  return connectTo({ database, flush: createStoreFlush(database, file) }, file)
}

async function connectForReading(file: string): Promise<Connection> {
  const opened = openForReading(file)
  const reading = { database: opened.database, flush: undefined, dispose: opened.close }
  try {
    if (isCurrent(opened.database, file)) return await connectTo(reading, file)
  } catch (error) {
    opened.close()
    throw error
  }
  opened.close()
  const copy = openCopy(file)
  return connectTo({ database: copy.database, flush: undefined, dispose: copy.close }, file)
}

async function connectTo(
  opened: Pick<Connection, 'database' | 'flush' | 'dispose'>,
  file: string,
): Promise<Connection> {
  const { database } = opened
  const dialect = new SqliteDialect({ database: kyselyDatabase(database, file) })
  const db = new Kysely<Schema>({ dialect })
  const statements = createStatements({ db, database, file })
  try {
    await migrate(db, database, file)
    const leases = await openLeases(db)
    // A run's directory that a power cut leaves without a store would be taken for one whose store was lost.
    await opened.flush?.()
    return { ...opened, db, statements, leases }
  } catch (error) {
    await disconnect({ ...opened, db, statements })
    throw error
  }
}

async function disconnect(connection: Omit<Connection, 'leases'>): Promise<void> {
  const { db, database, statements, flush, dispose } = connection
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
