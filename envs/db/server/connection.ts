/**
 * Connections to a MySQL or MariaDB server.
 *
 * Invariants
 * - One statement a text; no files of this machine are ever sent.
 * - Values come as text with their kind, however large.
 * - A server that does not answer is waited for no longer than the time that is given.
 */
import type { Duplex } from 'node:stream'
import type { Connection, ConnectionOptions, FieldPacket } from 'mysql2'
import type { Cell } from '../../../worlds/mysql/database.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

type Kind = NonNullable<Cell>['kind']

const kinds: Readonly<Record<string, Kind>> = {
  TINY: 'integer',
  SHORT: 'integer',
  INT24: 'integer',
  LONG: 'integer',
  LONGLONG: 'integer',
  YEAR: 'integer',
  DECIMAL: 'decimal',
  NEWDECIMAL: 'decimal',
  FLOAT: 'double',
  DOUBLE: 'double',
  DATE: 'date',
  NEWDATE: 'date',
  DATETIME: 'datetime',
  TIMESTAMP: 'datetime',
  TIME: 'time',
}

/** How long to wait for the server to take a connection. */
const connectMs = 10_000

/** Options of a connection to the server at a URL, as its own user or another one. */
export function connectionOptions(
  url: URL,
  as?: { readonly user: string; readonly password: string; readonly database: string },
): ConnectionOptions {
  const socketPath = url.searchParams.get('socket')
  return {
    ...(socketPath === null
      ? { host: url.hostname || '127.0.0.1', port: Number(url.port || 3306) }
      : { socketPath }),
    user: as?.user ?? decodeURIComponent(url.username),
    password: as?.password ?? decodeURIComponent(url.password),
    ...(as === undefined ? {} : { database: as.database }),
    charset: 'utf8mb4',
    connectTimeout: connectMs,
    multipleStatements: false,
    // The server may not ask this machine for files, and counts the rows that an UPDATE changes, not those it finds.
    flags: ['-LOCAL_FILES', '-FOUND_ROWS'],
    supportBigNumbers: true,
    rowsAsArray: true,
    typeCast: (field: { type: string; string(): string | null }): Cell => {
      const text = field.string()
      return text === null ? null : { kind: kinds[field.type] ?? 'text', text }
    },
  }
}

/** Ends a connection here and now, also to a server that does not answer. */
export function cut(connection: Connection): void {
  connection.destroy()
  // `destroy` alone waits for the server to hang up.
  ;(connection as unknown as { readonly stream: Duplex }).stream.destroy()
}

/** The result of a request within a time; after that the connection is cut. @throws EnvironmentFault backend */
export async function within<T>(ms: number, connection: Connection, asked: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      cut(connection)
      reject(new EnvironmentFault('backend', `database server: no answer within ${ms / 1000} s`))
    }, ms)
  })
  try {
    return await Promise.race([asked, overdue])
  } finally {
    clearTimeout(timer)
  }
}

/** Rows of a statement as they come. @returns false to have no more of them */
export type OnRow = (row: readonly Cell[]) => void

/** The result of a statement besides its rows. */
export interface Ending {
  readonly columns: boolean
  readonly affected: number
}

/** Runs a statement. @throws ServerError, as mysql2 gives it */
export function run(connection: Connection, sql: string, onRow: OnRow): Promise<Ending> {
  return new Promise((resolve, reject) => {
    let columns = false
    let affected = 0
    connection
      .query(sql)
      .on('error', reject)
      .on('fields', (fields: FieldPacket[] | undefined) => {
        columns ||= fields !== undefined
      })
      .on('result', (row: readonly Cell[] | { readonly affectedRows?: number }) => {
        if (Array.isArray(row)) onRow(row as readonly Cell[])
        else affected = (row as { readonly affectedRows?: number }).affectedRows ?? 0
      })
      .on('end', () => resolve({ columns, affected }))
  })
}

/** An error of the server or of the connection to it. */
export interface ServerError {
  readonly errno?: number
  readonly sqlState?: string
  readonly sqlMessage?: string
  readonly message: string
  /** The connection is of no more use. */
  readonly fatal?: boolean
}

export function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && ('errno' in error || 'fatal' in error || 'code' in error)
}

/** A name as MySQL reads it. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
