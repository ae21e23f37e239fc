/**
 * One session's database on a server, used as its own restricted user.
 *
 * Invariants
 * - The names of database and user never reach the agent: they differ from session to session.
 * - A connection that the agent's statement broke is replaced; the database stays.
 * - Only permitted statements are sent.
 */
import type { Connection } from 'mysql2'
import type { StateHash, TableData } from '../../../worlds/mysql/database.ts'
import {
  type Cell,
  type Database,
  lostConnection,
  type SqlFailure,
  type StatementLimits,
  type StatementResult,
  tooLong,
} from '../../../worlds/mysql/database.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import type { Administrator } from './administrator.ts'
import { connectionOptions, cut, isServerError, run, within } from './connection.ts'
import { refusalOf } from './permitted.ts'

/** The parts of a session's database. */
export interface ServerDatabaseOptions {
  readonly address: URL
  readonly administrator: Administrator
  readonly login: { readonly user: string; readonly password: string; readonly database: string }
  readonly limits: StatementLimits
  /** Whether another process may have removed it. */
  readonly isLost: () => boolean
  readonly remove: () => Promise<void>
}

/** The clock is stopped, so that a session that is played again says the same. */
const clock = Date.UTC(2024, 0, 1) / 1000
// Time for a connection after its statement was ordered to end.
const graceMs = 1000
// Settings of a connection that was just made.
const settingMs = 10_000
const interrupted = new Set([1317, 1969, 3024])
const statementLength = 100_000

export class ServerDatabase implements Database {
  readonly #options: ServerDatabaseOptions
  #connection: Promise<Connection> | undefined
  #removed: Promise<void> | undefined
  /** Called once, when it is gone. */
  onClosed: () => void = () => {}

  constructor(options: ServerDatabaseOptions) {
    this.#options = options
  }

  async execute(sql: string): Promise<StatementResult> {
    if (sql.length > statementLength) return { kind: 'failed', failure: tooLong }
    const refusal = refusalOf(sql)
    if (refusal !== undefined) return { kind: 'failed', failure: refusal }
    return this.#run(await this.#connected(), sql)
  }

  async stateHash(tables: readonly TableData[]): Promise<StateHash | undefined> {
    const { administrator, login, limits } = this.#options
    // Commits the agent's open transaction, as the official task does after every statement.
    await this.execute('COMMIT')
    return administrator.stateHash(login.database, tables, limits.deadlineMs)
  }

  close(): Promise<void> {
    this.#removed ??= this.#close()
    return this.#removed
  }

  async #close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined)
    if (connection !== undefined) cut(connection)
    await this.#options.remove()
    this.onClosed()
  }

  async #connected(): Promise<Connection> {
    if (this.#removed !== undefined || this.#options.isLost())
      throw new EnvironmentFault('session_lost', 'the database is gone: reset the environment first')
    this.#connection ??= this.#connect()
    try {
      return await this.#connection
    } catch (cause) {
      this.#connection = undefined
      throw new EnvironmentFault('backend', `database server: ${String(cause)}`, { cause })
    }
  }

  async #connect(): Promise<Connection> {
    const { address, administrator, login, limits } = this.#options
    const { createConnection } = await import('mysql2')
    const connection = createConnection(connectionOptions(address, login))
    // Errors of a statement go to the statement; this hears of a connection that breaks while idle.
    connection.on('error', () => {
      this.#connection = undefined
    })
    const seconds = limits.deadlineMs / 1000
    const time = administrator.isMariaDb
      ? `max_statement_time = ${seconds}`
      : `max_execution_time = ${Math.ceil(limits.deadlineMs)}`
    for (const setting of [
      // AgentBench's states were reached with texts that are no numbers compared to numbers, without an error.
      "sql_mode = 'NO_ENGINE_SUBSTITUTION'",
      'group_concat_max_len = 1024',
      "time_zone = '+00:00'",
      `timestamp = ${clock}`,
      'rand_seed1 = 1',
      'rand_seed2 = 2',
      time,
    ])
      await within(
        settingMs,
        connection,
        run(connection, `SET SESSION ${setting}`, () => {}),
      )
    return connection
  }

  async #run(connection: Connection, sql: string): Promise<StatementResult> {
    const { limits, administrator } = this.#options
    const thread = connection.threadId
    const rows: (readonly Cell[])[] = []
    let bytes = 0
    let truncated = false
    let overdue = false

    const end = (what: 'QUERY' | 'CONNECTION') => void administrator.kill(what, thread)
    const deadline = setTimeout(() => {
      overdue = true
      end('QUERY')
    }, limits.deadlineMs)
    const last = setTimeout(() => {
      end('CONNECTION')
      cut(connection)
      giveUp(new Error('the server does not end the statement'))
    }, limits.deadlineMs + graceMs)
    let giveUp: (error: Error) => void = () => {}
    const gaveUp = new Promise<never>((_, reject) => {
      giveUp = reject
    })
    gaveUp.catch(() => undefined)

    try {
      const ending = await Promise.race([
        run(connection, sql, (row) => {
          if (truncated) return
          bytes += row.reduce((sum, cell) => sum + (cell?.text.length ?? 0), 0)
          if (rows.length >= limits.rows || (bytes > limits.bytes && rows.length > 0)) {
            truncated = true
            end('QUERY')
          } else rows.push(row.map((cell) => this.#anonymous(cell)))
        }),
        gaveUp,
      ])
      if (overdue) return { kind: 'timed_out' }
      return ending.columns ? { kind: 'rows', rows, truncated } : { kind: 'done', affected: ending.affected }
    } catch (error) {
      if (!isUsable(error)) {
        this.#connection = undefined
        cut(connection)
      }
      if (truncated) return { kind: 'rows', rows, truncated }
      return overdue || (isServerError(error) && interrupted.has(error.errno ?? 0))
        ? { kind: 'timed_out' }
        : { kind: 'failed', failure: this.#failure(error) }
    } finally {
      clearTimeout(deadline)
      clearTimeout(last)
    }
  }

  #failure(error: unknown): SqlFailure {
    if (isServerError(error) && error.sqlMessage !== undefined && error.sqlState !== undefined)
      return { code: error.errno ?? 1105, state: error.sqlState, message: this.#hidden(error.sqlMessage) }
    return lostConnection
  }

  #anonymous(cell: Cell): Cell {
    if (cell === null || cell.kind !== 'text') return cell
    const text = this.#hidden(cell.text)
    return text === cell.text ? cell : { kind: 'text', text }
  }

  #hidden(text: string): string {
    const { database, user } = this.#options.login
    return text.replaceAll(database, 'dbbench').replaceAll(user, 'agent')
  }
}

/** Whether the connection can be used on. */
function isUsable(error: unknown): boolean {
  return isServerError(error) && error.sqlState !== undefined && error.fatal !== true
}
