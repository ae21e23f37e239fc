/**
 * Prepared transactions (XA) that sessions left on a server: they outlive their connection, a restart of the server
 * too, and hold what they changed, so that its database cannot be removed.
 *
 * Agents can make none any more, but those of a former release may lie there. A transaction's name does not tell
 * whose it is, and rolling back one of another application would lose its data.
 *
 * Invariants
 * - They are rolled back only where all that the server has prepared is shown to hold locks in databases that no live
 *   session owns.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Administrator } from './administrator.ts'
import { isServerError, quoted } from './connection.ts'
import type { ServerPool } from './pool.ts'

// The most tables of a database that are checked: a task has a handful.
const mostTables = 50
// The server refreshes its report of locks only when no one has asked for a tenth of a second.
const lookMs = 500
// XA_RBROLLBACK: it only read, and is rolled back already. XAER_NOTA: another process was faster.
const gone = new Set([1402, 1397])

/** The result of rolling back. */
export type Cleared = 'none' | 'rolled back' | 'not distinguished'

/** Rolls back what holds these databases, none of which is owned by a live session. @throws ServerError */
export async function rollBackPrepared(
  { pool, isMariaDb }: Pick<Administrator, 'pool' | 'isMariaDb'>,
  databases: readonly string[],
): Promise<Cleared> {
  const names = await preparedNames(pool, isMariaDb)
  if (names.length === 0) return 'none'
  const all = new Set(
    texts(await pool.query('SELECT trx_id FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = 0')),
  )
  if (all.size !== names.length) return 'not distinguished'
  const ours = new Set<string>()
  for (const database of databases) {
    const holders = isMariaDb ? await blockersOf(pool, database) : await holdersOf(pool, database)
    for (const holder of holders) ours.add(holder)
  }
  if ([...all].some((id) => !ours.has(id))) return 'not distinguished'
  for (const name of names)
    await pool.query(`XA ROLLBACK ${name}`).catch((error: unknown) => {
      if (!isServerError(error) || !gone.has(error.errno ?? 0)) throw error
    })
  return 'rolled back'
}

/** Names as `XA ROLLBACK` takes them. */
async function preparedNames(pool: ServerPool, isMariaDb: boolean): Promise<string[]> {
  const rows = await pool.query(isMariaDb ? "XA RECOVER FORMAT='SQL'" : 'XA RECOVER CONVERT XID')
  return rows.map(([format, globalBytes, , data]) => {
    if (isMariaDb) return data?.text ?? ''
    const digits = (data?.text ?? '').replace(/^0x/i, '')
    const end = 2 * Number(globalBytes?.text)
    return `X'${digits.slice(0, end)}',X'${digits.slice(end)}',${format?.text}`
  })
}

/** Transactions without a connection that hold locks in a database, as MySQL lists them. */
async function holdersOf(pool: ServerPool, database: string): Promise<readonly string[]> {
  return texts(
    await pool.query(
      'SELECT DISTINCT trx_id FROM performance_schema.data_locks JOIN information_schema.INNODB_TRX ON trx_id = ENGINE_TRANSACTION_ID WHERE trx_mysql_thread_id = 0 AND OBJECT_SCHEMA = ?',
      [database],
    ),
  )
}

/** The same on MariaDB, which tells only whom another transaction waits for: so each table's rows are asked for. */
async function blockersOf(pool: ServerPool, database: string): Promise<readonly string[]> {
  const tables = await pool.query(
    `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' LIMIT ${mostTables}`,
    [database],
  )
  const blockers: string[] = []
  for (const table of texts(tables)) blockers.push(...(await blockersOfTable(pool, database, table)))
  return blockers
}

async function blockersOfTable(pool: ServerPool, database: string, table: string): Promise<string[]> {
  return pool.use(async (ask, thread) => {
    let waiting = true
    const probe = (async () => {
      await ask('START TRANSACTION')
      // The lock wait's own end, or ours, is what is expected here.
      await ask(`SELECT 1 FROM ${quoted(database)}.${quoted(table)} LIMIT 100000 FOR UPDATE`).catch(
        (error: unknown) => {
          if (!isServerError(error)) throw error
        },
      )
      await ask('ROLLBACK')
    })().finally(() => {
      waiting = false
    })
    // It is waited for below, whatever happens in between.
    probe.catch(() => undefined)
    const found: string[] = []
    for (;;) {
      await Promise.race([probe, delay(lookMs, undefined, { ref: false })])
      if (!waiting || found.length > 0) break
      found.push(
        ...texts(
          await pool.query(
            `SELECT DISTINCT b.trx_id FROM information_schema.INNODB_LOCK_WAITS AS w
             JOIN information_schema.INNODB_TRX AS r ON r.trx_id = w.requesting_trx_id
             JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.blocking_trx_id
             WHERE r.trx_mysql_thread_id = ${thread} AND b.trx_mysql_thread_id = 0`,
          ),
        ),
      )
    }
    await probe
    return found
  })
}

function texts(rows: Awaited<ReturnType<ServerPool['query']>>): string[] {
  return rows.map(([cell]) => cell?.text ?? '')
}
