import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStoreFlush, openSqlite } from './sqlite.ts'

let folder: string
const flushLog = vi.fn(async () => undefined)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-store-flush-'))
  flushLog.mockClear()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a flush of the store', () => {
  // [STORE-FLUSH-1] [STORE-5]
  it('is made after a commit, and not without one', async () => {
    const file = join(folder, 'a.db')
    using database = openSqlite(file)
    const flush = createStoreFlush(database, file, flushLog)
    database.exec('create table rows (value)')
    await flush()
    expect(flushLog).toHaveBeenCalledTimes(1)
    await flush()
    expect(flushLog).toHaveBeenCalledTimes(1)
    database.exec('insert into rows values (1)')
    await flush()
    expect(flushLog).toHaveBeenCalledTimes(2)
  })

  // [STORE-FLUSH-1]
  it('is made again for a transaction that was still open during the last one', async () => {
    const file = join(folder, 'b.db')
    using database = openSqlite(file)
    const flush = createStoreFlush(database, file, flushLog)
    database.exec('create table rows (value)')
    await flush()
    database.exec('begin; insert into rows values (1)')
    await flush()
    database.exec('commit')
    await flush()
    expect(flushLog).toHaveBeenCalledTimes(3)
    await flush()
    expect(flushLog).toHaveBeenCalledTimes(3)
  })

  it('that fails names the store, and is made again', async () => {
    const file = join(folder, 'c.db')
    using database = openSqlite(file)
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    const flush = createStoreFlush(database, file, flushLog.mockRejectedValueOnce(full))
    await expect(flush()).rejects.toMatchObject({ name: 'StorageFault', kind: 'disk_full' })
    await flush()
    expect(flushLog).toHaveBeenCalledTimes(2)
  })
})
