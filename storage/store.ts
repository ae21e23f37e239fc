/**
 * The store: all that a home knows of its runs, in one SQLite file or in a schema of PostgreSQL.
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
import { resolve } from 'node:path'
import type { LeaseStore } from '../machine/processes/lease.ts'
import { isAddress } from './disk/address.ts'
import { StorageFault } from './disk/fault.ts'
import { backendOf } from './place.ts'
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
import type { Access, Backend, Connection } from './tables/backend.ts'
import { type Actions, createActions } from './trajectories/actions.ts'
import { type Answers, createAnswers } from './trajectories/answers.ts'
import { createEpisodeFeed, type EpisodeFeed } from './trajectories/episode-feed.ts'
import { createEpisodes, type Episodes } from './trajectories/episodes.ts'
import { createObservations, type Observations } from './trajectories/observations.ts'

export interface Store extends AsyncDisposable {
  /** Path of its file, or its address without the password. */
  readonly file: string
  /** A text that a copy of the store does not have. */
  readonly original: string
  /** Which store is at its place now: another value once it was replaced. @throws StorageFault `missing` where there is none */
  identity(): Promise<string>
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

export interface StoreOptions {
  /** False refuses a file that does not exist; true by default. */
  readonly create?: boolean
  /**
   * `read` opens for reading where nothing can be written, and where the store is of an earlier release, whose processes may be at
   * work on it; `look` always does, over a connection beside the one that
   * others of this process may have. `write` by default.
   */
  readonly access?: Access
}

type OpenConnection = Connection & { readonly leases: LeaseStore }

/** Connections of this process by place, with the number of stores that use them. */
const connections = new Map<string, { readonly opening: Promise<OpenConnection>; users: number }>()

/**
 * Opens the store of a place, which is the path of a file or the printable address of a schema; close every store that was opened.
 * @throws StorageFault `missing`, `newer_schema`, `corrupt`, `no_permission`, `locked`, `disk_full`, `io`, `bad_address`, `not_installed`
 */
export async function openStore(named: string, options: StoreOptions = {}): Promise<Store> {
  const place = isAddress(named) ? named : resolve(named)
  const backend = await backendOf(place)
  const lost = await backend.lost(place)
  if (lost !== undefined) throw lost
  if (options.create === false && !connections.has(place) && !(await backend.exists(place)))
    throw new StorageFault('missing', `store ${named} does not exist; check --home, or start a run there`)
  const isForReading =
    options.access === 'look' ||
    (options.access === 'read' && (await backend.readsApart(place, connections.has(place))))
  const key = isForReading ? `${place} (read-only)` : place
  const shared = connections.get(key) ?? {
    opening: open(backend, place, isForReading),
    users: 0,
  }
  connections.set(key, shared)
  // Counted before the next await: a caller that closes meanwhile must see this user.
  shared.users += 1
  const opened = await shared.opening.catch((error: unknown) => {
    if (connections.get(key) === shared) connections.delete(key)
    throw error
  })
  const { db, statements, terms, leases } = opened
  const observations = createObservations(db, statements)
  const actions = createActions(db, statements)

  let closed = false
  async function close(): Promise<void> {
    if (closed) return
    closed = true
    shared.users -= 1
    if (shared.users > 0) return opened.flush()
    connections.delete(key)
    await opened.close()
  }

  return {
    file: named,
    original: opened.original,
    identity: () => opened.identity(),
    runs: createRuns(db, statements),
    groups: createGroups(db),
    episodes: createEpisodes({ db, statements, observations, actions }),
    feed: createEpisodeFeed(db, statements, terms),
    observations,
    actions,
    answers: createAnswers(db, statements),
    updates: createUpdates(db),
    evaluations: createEvaluations(db),
    metrics: createRunMetrics(db, terms),
    audit: createAudit(db),
    leases,
    experiments: createExperiments(db),
    experts: createExperts(db),
    nonces: createNonces(db),
    failing: createFailingWorks(db),
    costs: createRunCosts(db),
    holdings: createHoldings(db, () => opened.shrink()),
    flushed: () => opened.flush(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function open(backend: Backend, place: string, isForReading: boolean): Promise<OpenConnection> {
  const connection = await (isForReading ? backend.connectForReading(place) : backend.connect(place))
  try {
    return { ...connection, leases: await openLeases(connection.db) }
  } catch (error) {
    await connection.close()
    throw error
  }
}
