/**
 * Databases on a MySQL or MariaDB server: one database and one user a session.
 *
 * Invariants
 * - A session's database and user are removed with it; the leftovers of a killed process are removed by any other one
 *   that shares its leases, or sees that it is dead. No session and no start waits for that.
 * - A database that cannot be removed now, because something holds it, is left without an owner and tried again.
 * - A statement is ended at its deadline: by the server where it can, and by us in any case.
 */
import { randomBytes } from 'node:crypto'
import { reasonOf } from '../../../faults/reason.ts'
import {
  createProcessLeases,
  endExpired,
  holdLeases,
  isUnowned,
  type LeaseHolder,
  type LeaseStore,
  reapingPeriodMs,
} from '../../../machine/processes/lease.ts'
import type { DatabaseBackend, StatementLimits } from '../../../worlds/mysql/database.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { Administrator, databaseNameOf, leasedOf, userNameOf } from './administrator.ts'
import { isServerError } from './connection.ts'
import { ServerDatabase } from './database.ts'

/** Opens the backend. @throws EnvironmentFault bad_settings for no URL, backend for no server */
export async function openServer(
  url: string,
  limits: StatementLimits,
  leases: LeaseStore = createProcessLeases(),
): Promise<DatabaseBackend> {
  const address = addressOf(url)
  const administrator = await Administrator.connect(address)
  const holder = holdLeases(leases, (fault) =>
    console.error(`db: leases cannot be renewed: ${String(fault)}`),
  )
  const open = new Set<ServerDatabase>()
  const cleaning = cleanRegularly(administrator, leases)
  return {
    async open(tables) {
      const made = await make(address, administrator, holder, leases.scope, limits, tables)
      open.add(made)
      made.onClosed = () => open.delete(made)
      return made
    },
    async close() {
      cleaning.stop()
      await Promise.all([...open].map((database) => database.close()))
      holder.close()
      await administrator.close()
      await cleaning.ended()
    },
  }
}

/** Removes what no one owns: now, and from time to time, one round after another. */
function cleanRegularly(
  administrator: Administrator,
  leases: LeaseStore,
): { stop(): void; ended(): Promise<unknown> } {
  const stopped = new AbortController()
  let round: Promise<unknown> | undefined
  const clean = () => {
    round ??= reap(administrator, leases, Date.now(), stopped.signal)
      .catch((fault: unknown) => {
        if (!stopped.signal.aborted)
          console.error(`db: databases without an owner cannot be removed: ${reasonOf(fault)}`)
      })
      .finally(() => {
        round = undefined
      })
  }
  const timer = setInterval(clean, reapingPeriodMs)
  timer.unref()
  clean()
  return {
    stop() {
      stopped.abort()
      clearInterval(timer)
    },
    ended: async () => round,
  }
}

function addressOf(url: string): URL {
  try {
    return new URL(url)
  } catch (cause) {
    throw new EnvironmentFault(
      'bad_settings',
      'settings of db: url is no URL: use mysql://USER:PASSWORD@HOST:PORT',
      {
        cause,
      },
    )
  }
}

async function make(
  address: URL,
  administrator: Administrator,
  holder: LeaseHolder,
  scope: string,
  limits: StatementLimits,
  tables: Parameters<DatabaseBackend['open']>[0],
): Promise<ServerDatabase> {
  let lost = false
  const lease = await holder.hold('database', () => {
    lost = true
  })
  const name = databaseNameOf({ id: lease, scope })
  const login = { user: userNameOf(lease), password: randomBytes(18).toString('base64url'), database: name }
  const remove = async () => {
    // Without its lease, a database that something holds goes with the next round of cleaning.
    await administrator.remove(name, login.user).catch((fault: unknown) => {
      console.error(`db: a database is left for later: ${reasonOf(fault)}`)
    })
    await holder.drop(lease)
  }
  try {
    await administrator.make(name, login, tables)
    return new ServerDatabase({ address, administrator, login, limits, isLost: () => lost, remove })
  } catch (error) {
    // If the server does not answer now, the end of the lease removes the rest.
    await remove().catch(() => undefined)
    throw error
  }
}

/**
 * Removes databases that no live lease owns.
 * @param stopped ends it before the next database
 * @returns how many were removed
 * @throws EnvironmentFault backend where some could not be, after all others were, or where the server answered with an error or not in time
 */
export async function reap(
  administrator: Administrator,
  leases: LeaseStore,
  now: number,
  stopped?: AbortSignal,
): Promise<number> {
  const databases = await administrator.list()
  const ids = await endExpired(leases, 'database', now)
  const unowned = databases.filter((database) => {
    const leased = leasedOf(database)
    return leased !== undefined && isUnowned(leased, { scope: leases.scope, ids })
  })
  const held = await removeAll(administrator, unowned, stopped)
  if (held.length === 0 || stopped?.aborted) return unowned.length - held.length
  throw new EnvironmentFault(
    'backend',
    `${held.join(', ')}: see SHOW PROCESSLIST for what uses them; it is tried again`,
  )
}

/** @returns those that something holds */
async function removeAll(
  administrator: Administrator,
  databases: readonly string[],
  stopped?: AbortSignal,
): Promise<string[]> {
  const held: string[] = []
  for (const database of databases) {
    if (stopped?.aborted) break
    const leased = leasedOf(database)
    try {
      await administrator.remove(database, userNameOf(leased?.id ?? ''))
    } catch (fault) {
      // The server has answered, so the error concerns this database. Without an answer the others fail as well.
      const cause = fault instanceof EnvironmentFault ? fault.cause : fault
      if (!isServerError(cause) || cause.sqlState === undefined) throw fault
      held.push(database)
    }
  }
  return held
}
