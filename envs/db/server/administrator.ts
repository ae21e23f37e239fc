/**
 * The work of the server's own user: it makes and removes databases and users, reads states, ends statements.
 *
 * Invariants
 * - A user can do nothing outside of its database, and may neither read files nor run for others.
 * - A user is made after its database and removed before it, so that a database tells of all that is left.
 * - A database is removed when its user's connections are ended; one that is held all the same is a fault within seconds.
 * - A name gives back its lease's id and scope; other names give nothing.
 * - A database's name has at most 64 characters and a user's 32, as MySQL asks.
 */

import type { Leased } from '../../../machine/processes/lease.ts'
import type { StateHash, TableData } from '../../../worlds/mysql/database.ts'
import { groupConcatBytes, hashOfTables } from '../../../worlds/mysql/state-hash.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { isServerError, quoted } from './connection.ts'
import { backendFault, firstText, type QueryValues, type Rows, ServerPool } from './pool.ts'

/** The privileges of a user in its database. No FILE, PROCESS, SUPER: those cannot be granted for one database. */
const privileges =
  'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, CREATE VIEW, SHOW VIEW, CREATE TEMPORARY TABLES'

// MySQL 8's default, and what comes closest to it: neither case nor accents count, blanks at the end do.
const collations = [
  'utf8mb4_0900_ai_ci',
  'utf8mb4_uca1400_nopad_ai_ci',
  'utf8mb4_unicode_nopad_ci',
  'utf8mb4_unicode_ci',
]

const collationUnknown = 1273

// Tables of thousands of rows on a slow disk.
const fillMs = 60_000

// A hash has the time of a statement, and this time to be reported.
const graceMs = 1000

/** The server's own user at work. */
export class Administrator {
  readonly pool: ServerPool
  readonly #collation: string
  /** True for MariaDB, whose limit of time covers all statements. */
  readonly isMariaDb: boolean

  /** @throws EnvironmentFault backend where the server does not answer, or refuses the user */
  static async connect(url: URL): Promise<Administrator> {
    const pool = await ServerPool.open(url)
    try {
      const version = firstText(await pool.query('SELECT VERSION()'))
      return new Administrator(pool, await usableCollation(pool), version.includes('MariaDB'))
    } catch (error) {
      await pool.close()
      throw serverFault(error, url)
    }
  }

  private constructor(pool: ServerPool, collation: string, isMariaDb: boolean) {
    this.pool = pool
    this.#collation = collation
    this.isMariaDb = isMariaDb
  }

  /** Makes a database with its tables, and the one user that may use it. */
  async make(
    database: string,
    login: { readonly user: string; readonly password: string },
    tables: readonly TableData[],
  ): Promise<void> {
    await this.#do(`CREATE DATABASE ${quoted(database)} CHARACTER SET utf8mb4 COLLATE ${this.#collation}`)
    for (const table of tables) await this.#fill(database, table)
    // In a grant `_` is a wildcard for one letter.
    const scope = quoted(database.replaceAll('_', '\\_'))
    const user = `'${login.user}'@'%'`
    await this.#do(`CREATE USER ${user} IDENTIFIED BY '${login.password}' WITH MAX_USER_CONNECTIONS 2`)
    await this.#do(`GRANT ${privileges} ON ${scope}.* TO ${user}`)
  }

  /** @throws EnvironmentFault backend where something else still holds it */
  async remove(database: string, user: string): Promise<void> {
    await this.#endConnections(user)
    await this.#do(`DROP USER IF EXISTS '${user}'@'%'`)
    await this.#do(`DROP DATABASE IF EXISTS ${quoted(database)}`)
  }

  /** Databases named as ours are. */
  async list(): Promise<string[]> {
    const rows = await this.#do(`SHOW DATABASES LIKE '${namePrefix.replaceAll('_', '\\_')}%'`)
    return rows.map(([name]) => name?.text ?? '')
  }

  /** How many users are named as ours are. */
  async users(): Promise<number> {
    const pattern = `${namePrefix.replaceAll('_', '\\_')}%`
    const query = `SELECT COUNT(*) FROM mysql.user WHERE User LIKE '${pattern}'`
    return Number(firstText(await this.#do(query)))
  }

  /** Ends the statement of a connection, or the connection. A connection that is gone already is no error. */
  async kill(what: 'QUERY' | 'CONNECTION', thread: number): Promise<void> {
    await this.pool.query(`KILL ${what} ${thread}`).catch(() => undefined)
  }

  /** The official hash of the tables' state; undefined where they cannot be read, or not in time. */
  async stateHash(
    database: string,
    tables: readonly TableData[],
    deadlineMs: number,
  ): Promise<StateHash | undefined> {
    const hashes: StateHash[] = []
    for (const { name, columns } of tables) {
      const row = `CONCAT_WS(',', ${columns.map(quoted).join(', ')})`
      const limit = this.isMariaDb ? '' : `/*+ MAX_EXECUTION_TIME(${Math.ceil(deadlineMs)}) */ `
      const query = `SELECT ${limit}MD5(GROUP_CONCAT(hash ORDER BY hash)) FROM (SELECT SUBSTRING(MD5(${row}), 1, 5) AS hash FROM ${quoted(database)}.${quoted(name)}) AS hashes`
      const bound = this.isMariaDb
        ? `SET STATEMENT max_statement_time = ${deadlineMs / 1000} FOR ${query}`
        : query
      try {
        const rows = await this.pool.use(async (ask) => {
          await ask(`SET SESSION group_concat_max_len = ${groupConcatBytes}`)
          return ask(bound, [], deadlineMs + graceMs)
        })
        hashes.push(rows[0]?.[0]?.text ?? null)
      } catch (error) {
        if (isServerError(error) && error.sqlState !== undefined) return undefined
        throw error
      }
    }
    return hashOfTables(hashes)
  }

  async close(): Promise<void> {
    await this.pool.close()
  }

  async #fill(database: string, { name, columns, rows }: TableData): Promise<void> {
    const table = `${quoted(database)}.${quoted(name)}`
    await this.#do(`CREATE TABLE ${table} (${columns.map((column) => `${quoted(column)} TEXT`).join(', ')})`)
    if (rows.length > 0) await this.#do(`INSERT INTO ${table} VALUES ?`, [rows], fillMs)
  }

  /** Ends what a user still runs: it would hold its tables until it is done. */
  async #endConnections(user: string): Promise<void> {
    for (const [thread, owner] of await this.#do('SHOW PROCESSLIST'))
      if (owner?.text === user) await this.kill('CONNECTION', Number(thread?.text))
  }

  /** @throws EnvironmentFault backend */
  async #do(sql: string, values?: QueryValues, ms?: number): Promise<Rows> {
    try {
      return await this.pool.query(sql, values, ms)
    } catch (cause) {
      throw backendFault(cause)
    }
  }
}

async function usableCollation(pool: ServerPool): Promise<string> {
  for (const collation of collations) {
    try {
      await pool.query(`SELECT _utf8mb4'a' COLLATE ${collation}`)
      return collation
    } catch (error) {
      if (!isServerError(error) || error.errno !== collationUnknown) throw error
    }
  }
  return 'utf8mb4_general_ci'
}

/** A fault that tells of the server, and never of the password in its URL. */
function serverFault(cause: unknown, { host }: URL): EnvironmentFault {
  const reason = isServerError(cause) ? cause.message : String(cause)
  return new EnvironmentFault(
    'backend',
    `database server at ${host}: ${reason || 'it does not answer'}: start it, give another "url", or leave it out to use embedded databases`,
    { cause },
  )
}

/** The beginning of all names of databases. */
const namePrefix = 'pdr_'

const longestName = 64
const digits = 25
const pattern = /^pdr_([0-9a-z]{25})_([0-9a-z_]+)$/

/** The scope of a process with its PID namespace: too long for a name as it is. */
const processScope = /^p(\d+)s(\d+)b([0-9a-f]{12})n(\d+)$/

const shortScope = /^([0-9a-z]+)_([0-9a-z]+)_([0-9a-z]+)_([0-9a-z]+)$/

/** @throws EnvironmentFault where lease or scope do not fit into a name */
export function databaseNameOf({ id, scope }: Leased): string {
  const name = `${userNameOf(id)}_${shortened(scope)}`
  if (!pattern.test(name) || name.length > longestName)
    throw new EnvironmentFault('backend', `no database can be named by the lease ${id} of ${scope}`)
  return name
}

export function userNameOf(leaseId: string): string {
  const hexadecimal = leaseId.replace(/^perdure-/, '').replaceAll('-', '')
  return namePrefix + BigInt(`0x${hexadecimal}`).toString(36).padStart(digits, '0')
}

/** The numbers of a process's scope to base 36; other scopes as they are. */
function shortened(scope: string): string {
  const [, pid, start, boot, namespace] = processScope.exec(scope) ?? []
  if (pid === undefined) return scope
  return [pid, start, `0x${boot}`, namespace].map((number) => BigInt(number ?? 0).toString(36)).join('_')
}

function lengthened(text: string): string {
  const numbers = shortScope.exec(text)?.slice(1).map(numberOf)
  if (numbers === undefined) return text
  const [pid = 0n, start = 0n, boot = 0n, namespace = 0n] = numbers
  return `p${pid}s${start}b${boot.toString(16).padStart(12, '0')}n${namespace}`
}

function numberOf(digits: string): bigint {
  let value = 0n
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value
}

/** The lease that a database was made under; undefined for databases of others. */
export function leasedOf(database: string): Leased | undefined {
  const [, number = '', scope = ''] = pattern.exec(database) ?? []
  if (number === '') return undefined
  const hexadecimal = numberOf(number).toString(16).padStart(32, '0')
  const uuid = hexadecimal.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { id: `perdure-${uuid}`, scope: lengthened(scope) }
}
