import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Statements } from '../tables/backend.ts'
import type { Schema } from '../tables/schema.ts'
import { kyselyDatabase, openSqlite } from './sqlite.ts'
import { createStatements } from './statements.ts'

const insert = CompiledQuery.raw('insert into t values (?, ?) on conflict do nothing')
const count = CompiledQuery.raw('select count(*) as n from t') as CompiledQuery<{ n: number }>

let dir: string
let file: string
let database: DatabaseSync
let reader: DatabaseSync
let db: Kysely<Schema>
let statements: Statements

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-statements-'))
  file = join(dir, 'store.db')
  database = openSqlite(file, 1)
  database.exec('create table t (id integer primary key, a blob)')
  reader = openSqlite(file, 1)
  db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: kyselyDatabase(database, file) }) })
  statements = createStatements({ db, database, file })
})

afterEach(async () => {
  await db.destroy()
  if (database.isOpen) database.close()
  reader.close()
  rmSync(dir, { recursive: true })
})

/** The count that another connection sees: committed rows only. */
function committed(): number {
  return Number(reader.prepare('select count(*) as n from t').get()?.n)
}

/** Counts the transactions that this connection begins. */
function countTransactions(): () => number {
  let begun = 0
  const { prepare } = database
  database.prepare = (sql) => {
    const statement = prepare.call(database, sql)
    if (sql !== 'begin immediate') return statement
    const { run } = statement
    statement.run = (...parameters) => {
      begun += 1
      return run.apply(statement, parameters as never)
    }
    return statement
  }
  return () => begun
}

describe('writes', () => {
  it('a caller hears of its write when another connection can see it', async () => {
    // [STATEMENT-1]
    const seen = await Promise.all(
      [1, 2, 3].map(async (id) => {
        const changes = await statements.write(insert, [id, null])
        return [changes, committed()]
      }),
    )
    expect(seen).toEqual([
      [1, 3],
      [1, 3],
      [1, 3],
    ])
  })

  it('writes that come together are one transaction, and each hears of its own rows', async () => {
    const transactions = countTransactions()
    const changes = await Promise.all([1, 1, 2].map((id) => statements.write(insert, [id, null])))
    expect(changes).toEqual([1, 0, 1])
    expect(transactions()).toBe(1)
  })

  it('a write that cannot be done takes no other along', async () => {
    // [STATEMENT-2]
    const strict = CompiledQuery.raw('insert into t values (?, ?)')
    const settled = await Promise.allSettled([1, 1, 2].map((id) => statements.write(strict, [id, null])))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(settled[1]).toMatchObject({ reason: { name: 'StorageFault', kind: 'internal' } })
    expect(committed()).toBe(2)
  })

  it('a disk that is full for one of them is full for that one, and a retry repairs it', async () => {
    // [STATEMENT-2]
    database.exec('pragma max_page_count = 8')
    const sizes = [100, 100_000, 100]
    const settled = await Promise.allSettled(
      sizes.map((size, id) => statements.write(insert, [id, new Uint8Array(size)])),
    )
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(settled[1]).toMatchObject({ reason: { kind: 'disk_full', permanent: false } })
    database.exec('pragma max_page_count = 1000')
    expect(await statements.write(insert, [1, new Uint8Array(100_000)])).toBe(1)
    expect(committed()).toBe(3)
  })

  it('while another process keeps the store locked each write fails of it, and a retry repairs it', async () => {
    reader.exec('begin immediate')
    const settled = await Promise.allSettled([1, 2].map((id) => statements.write(insert, [id, null])))
    for (const each of settled) expect(each).toMatchObject({ reason: { kind: 'locked', permanent: false } })
    reader.exec('commit')
    expect(await statements.write(insert, [1, null])).toBe(1)
    expect(committed()).toBe(1)
  })

  it('writes wait for a transaction that is open on the connection, and are not taken back with it', async () => {
    // [STATEMENT-3]
    let written: Promise<unknown> | undefined
    let looked: Promise<{ n: number } | undefined> | undefined
    const work = db.transaction().execute(async (transaction) => {
      await transaction.executeQuery(CompiledQuery.raw('insert into t values (100, null)'))
      written = Promise.all([1, 2].map((id) => statements.write(insert, [id, null])))
      looked = statements.first(count, [])
      // By then they are due.
      for (let round = 0; round < 3; round++) await new Promise(setImmediate)
      expect(committed()).toBe(0)
      throw new Error('taken back')
    })
    await expect(work).rejects.toThrow('taken back')
    expect(await written).toEqual([1, 1])
    expect([0, 2]).toContain((await looked)?.n)
    expect(reader.prepare('select id from t order by id').all()).toEqual([{ id: 1 }, { id: 2 }])
  })

  it('what waits to be written is written before the store is closed', async () => {
    const written = statements.write(insert, [1, null])
    await statements.settled()
    expect(committed()).toBe(1)
    expect(await written).toBe(1)
  })

  it('a store that was closed refuses reads and writes as closed', async () => {
    await db.destroy()
    if (database.isOpen) database.close()
    await expect(statements.write(insert, [1, null])).rejects.toMatchObject({ kind: 'closed' })
    await expect(statements.first(count, [])).rejects.toMatchObject({ kind: 'closed' })
  })
})

describe('reads', () => {
  it('give the rows of the parameters that are given, not of those that were compiled', async () => {
    for (const id of [1, 2, 3]) await statements.write(insert, [id, null])
    const above = CompiledQuery.raw('select id from t where id > ? order by id', [0])
    expect(await statements.all(above, [1])).toEqual([{ id: 2 }, { id: 3 }])
    expect(await statements.first(above, [2])).toEqual({ id: 3 })
    expect(await statements.first(above, [3])).toBeUndefined()
  })
})
