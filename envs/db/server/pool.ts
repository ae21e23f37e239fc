/**
 * Connections of the server's own user: a few, for what is done around sessions.
 *
 * Invariants
 * - Every statement has a deadline, and none waits long for a lock: what a session left locked stops no one else.
 * - Closing ends in a bounded time, whether the server answers or not.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from 'mysql2'
import type { Pool, PoolConnection } from 'mysql2/promise'
import type { Cell, TableData } from '../../../worlds/mysql/database.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { connectionOptions, cut, isServerError, within } from './connection.ts'

/** Time for a statement that does little; a busy server answers it within a second. */
const answerMs = 10_000
// Locks of other sessions do not concern us: a lock that is not free soon belongs to something that is stuck.
const lockWaitSeconds = 2
// Connections of ours to the server, those of the sessions aside.
const connections = 4
const closeMs = 2000

/** Rows of a statement's one `?`, or texts of several. */
export type QueryValues = readonly (TableData['rows'] | string)[]

/** Rows as cells. */
export type Rows = readonly (readonly Cell[])[]

export class ServerPool {
  readonly #pool: Pool
  readonly #connections = new Set<Connection>()

  private constructor(pool: Pool) {
    this.#pool = pool
    pool.on('connection', (connection) => {
      const core = connection as unknown as Connection
      this.#connections.add(core)
      core.on('end', () => this.#connections.delete(core))
      // A server that does not know them answers with an error, and has no such locks.
      for (const name of ['lock_wait_timeout', 'innodb_lock_wait_timeout'])
        core.query(`SET SESSION ${name} = ${lockWaitSeconds}`, () => {})
    })
  }

  static async open(url: URL): Promise<ServerPool> {
    const { createPool } = await import('mysql2/promise')
    return new ServerPool(createPool({ ...connectionOptions(url), connectionLimit: connections }))
  }

  /** @throws ServerError, or EnvironmentFault backend where there is no answer in time */
  async query(sql: string, values: QueryValues = [], ms = answerMs): Promise<Rows> {
    return this.use((ask) => ask(sql, values, ms))
  }

  /** Lends one connection, on which `work` sends its statements one after another. */
  async use<T>(
    work: (
      ask: (sql: string, values?: QueryValues, ms?: number) => Promise<Rows>,
      thread: number,
    ) => Promise<T>,
  ): Promise<T> {
    const connection = await this.#pool.getConnection()
    const core = connection.connection as unknown as Connection
    try {
      return await work(
        async (sql, values = [], ms = answerMs) =>
          rowsOf(await within(ms, core, asked(connection, sql, values))),
        connection.threadId,
      )
    } catch (error) {
      // In whatever state it is: after a failure no one uses it.
      if (!isServerError(error) || error.fatal === true) cut(core)
      throw error
    } finally {
      connection.release()
    }
  }

  async close(): Promise<void> {
    const ended = this.#pool.end().catch(() => undefined)
    await Promise.race([ended, delay(closeMs, undefined, { ref: false })])
    for (const connection of this.#connections) cut(connection)
  }
}

async function asked(connection: PoolConnection, sql: string, values: QueryValues): Promise<unknown> {
  const [rows] = await connection.query(sql, [...values])
  return rows
}

function rowsOf(rows: unknown): Rows {
  return Array.isArray(rows) ? (rows as Rows) : []
}

/** The first value. */
export function firstText(rows: Rows): string {
  return rows[0]?.[0]?.text ?? ''
}

/** A statement's failure as the environment's. */
export function backendFault(cause: unknown): EnvironmentFault {
  if (cause instanceof EnvironmentFault) return cause
  const reason = isServerError(cause) ? (cause.sqlMessage ?? cause.message) : String(cause)
  return new EnvironmentFault('backend', `database server: ${reason}`, { cause })
}
