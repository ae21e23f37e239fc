import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { episodeId, evaluationId, groupId, runId } from '../identity/identity.ts'
import { StorageFault } from './disk/fault.ts'
import { undoMigrations } from './sqlite/older-store.testing.ts'
import { kyselyDatabase, openSqlite } from './sqlite/sqlite.ts'
import { openStore } from './store.ts'
import type { LearntEpisode } from './trajectories/learnt-episode.ts'

const run = runId('demo')
const group = groupId(run, 0)
const newGroup = { id: group, run, number: 0, task: 'alfworld', instance: 'game-1', version: 3, created: 5 }
const result = {
  status: 'complete',
  episodes: [episodeId(group, 0, 0), episodeId(group, 1, 2)],
  rewards: [1, -0.2],
  oldestVersion: 3,
  ended: 9,
} as const

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-store-'))
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

describe('writes', () => {
  // [STORE-1]
  it('every write is idempotent by identity and says who was first', async () => {
    await using store = await openStore(join(dir, 'store.db'))
    const runInsert = { id: run, config: { seed: 1 }, created: 1 }
    expect(await store.runs.insert(runInsert)).toBe('first')
    expect(await store.runs.insert({ ...runInsert, config: { seed: 2 } })).toBe('already')
    expect((await store.runs.get(run))?.config).toEqual({ seed: 1 })

    expect(await store.groups.insert(newGroup)).toBe('first')
    expect(await store.groups.insert({ ...newGroup, task: 'db' })).toBe('already')
    expect(await store.groups.get(group)).toEqual({ ...newGroup, status: 'running' })

    const update = { run, step: 1, version: 1, statistics: { loss: 0.5 }, groups: [group], created: 3 }
    const episode = episodeId(group, 0, 0)
    const learnt: LearntEpisode = {
      ...{
        episode,
        source: 'played',
        tokens: 5,
        advantages: [0.1, [-1 / 3, 0.2]],
        weight: 1 / 7,
        imitation: 0,
      },
    }
    expect(await store.updates.put(update, [learnt])).toBe('first')
    expect(await store.updates.put({ ...update, version: 9 }, [])).toBe('already')
    expect(await store.updates.get(run, 1)).toEqual(update)
    const [kept] = (await store.updates.learnt(run, 1)) ?? []
    // [LEARNT-EPISODE-1] As the trainer reads them: 32-bit floats.
    expect(kept?.advantages.flat().map(Math.fround)).toEqual(learnt.advantages.flat().map(Math.fround))
    expect(kept?.advantages[1]).toHaveLength(2)
    expect(Math.fround(kept?.weight ?? 0)).toBe(Math.fround(1 / 7))
    expect(kept).toMatchObject({ episode, source: 'played', tokens: 5, imitation: 0 })
    expect(await store.updates.learnt(run, 2)).toBeUndefined()

    const evaluation = {
      id: evaluationId(run, 'held_out', 3, 1),
      run,
      suite: 'held_out',
      version: 3,
      seed: 1,
      created: 4,
    }
    const score = {
      success: 0.5,
      n: 2,
      planned: 2,
      lost: {},
      episodes: [episodeId(evaluationId(run, 'held_out', 3, 1), 0, 0)],
      statistics: {},
      ended: 8,
    }
    expect(await store.evaluations.insert(evaluation)).toBe('first')
    expect(await store.evaluations.insert(evaluation)).toBe('already')
    expect(await store.evaluations.get(evaluation.id)).toEqual(evaluation)
    expect(await store.evaluations.complete(evaluation.id, score)).toBe('first')
    expect(await store.evaluations.complete(evaluation.id, { ...score, success: 1 })).toBe('already')
    expect(await store.evaluations.insert({ ...evaluation, created: 9 })).toBe('already')
    expect(await store.evaluations.list(run)).toEqual([{ ...evaluation, result: score }])
  })

  it('a group is completed once; a second completion changes nothing', async () => {
    await using store = await openStore(join(dir, 'store.db'))
    await store.groups.insert(newGroup)
    expect(await store.groups.complete(group, result)).toBe('first')
    expect(await store.groups.complete(group, { ...result, rewards: [0, 0] })).toBe('already')
    expect((await store.groups.get(group))?.result).toEqual(result)
  })

  it('a group is consumed by one update at most, and by the same one however often it is asked for', async () => {
    await using store = await openStore(join(dir, 'store.db'))
    const other = groupId(run, 1)
    await store.groups.insert(newGroup)
    await store.groups.insert({ ...newGroup, id: other, number: 1 })
    await store.groups.complete(group, result)
    await expect(store.groups.consume([group, other], 1)).rejects.toMatchObject({ kind: 'missing' })
    expect((await store.groups.get(group))?.consumedBy).toBeUndefined()
    await store.groups.complete(other, result)
    await store.groups.consume([group, other], 1)
    await store.groups.consume([group, other], 1)
    await expect(store.groups.consume([other], 2)).rejects.toMatchObject({
      kind: 'conflict',
      permanent: true,
    })
    expect((await store.groups.list(run, { consumed: true })).map((one) => one.consumedBy)).toEqual([1, 1])
    expect(await store.groups.list(run, { consumed: false })).toEqual([])
  })

  it('the status of a run follows its workflow, and a published version keeps its state beside it', async () => {
    await using store = await openStore(join(dir, 'store.db'))
    await store.runs.insert({ id: run, config: {}, created: 1 })
    await store.runs.setStatus(run, 'failed', { detail: 'the disk was full', ended: 7 })
    expect(await store.runs.get(run)).toMatchObject({
      status: 'failed',
      detail: 'the disk was full',
      ended: 7,
    })
    await store.runs.setStatus(run, 'running')
    expect(await store.runs.get(run)).toEqual({ id: run, status: 'running', config: {}, created: 1 })
    expect(await store.runs.version(run)).toBeUndefined()
    await store.runs.publish(run, { version: 4, state: { step: 4 } })
    expect(await store.runs.version(run)).toBe(4)
    expect(await store.runs.state(run)).toEqual({ step: 4 })
    expect((await store.runs.list()).map((one) => one.id)).toEqual([run])
  })

  it('published versions only grow: one that comes late changes nothing', async () => {
    await using store = await openStore(join(dir, 'store.db'))
    await store.runs.insert({ id: run, config: {}, created: 1 })
    for (const version of [null, 0, 2, 1, null])
      await store.runs.publish(run, { version, state: { of: version } })
    expect(await store.runs.version(run)).toBe(2)
    expect(await store.runs.state(run)).toEqual({ of: 2 })
    await store.runs.publish(run, { version: 2, state: { of: 2, step: 3 } })
    expect(await store.runs.state(run)).toEqual({ of: 2, step: 3 })
  })
})

describe('openStore', () => {
  it('what was written is there after closing and opening again', async () => {
    const file = join(dir, 'store.db')
    {
      await using store = await openStore(file)
      await store.groups.insert(newGroup)
    }
    await using store = await openStore(file, { create: false })
    expect(await store.groups.list(run)).toHaveLength(1)
  })

  // [STORE-2]
  it('all who open the same file in a process share one connection, and the last who closes ends it', async () => {
    const file = join(dir, 'store.db')
    const [one, two] = await Promise.all([openStore(file), openStore(file)])
    await one.groups.insert(newGroup)
    expect(await two.groups.insert(newGroup)).toBe('already')
    await one.groups.complete(group, result)
    const consumptions = Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).groups.consume([group], 1))
    await Promise.all(consumptions)
    await one.close()
    await one.close()
    expect((await two.groups.get(group))?.consumedBy).toBe(1)
    await two.close()
    await expect(two.runs.list()).rejects.toThrow()
  })

  // [STORE-2]
  it('two processes that open a new store at the same moment both find it whole', async () => {
    const file = join(dir, 'store.db')
    const storeModule = JSON.stringify(new URL('./store.ts', import.meta.url).href)
    const script = `
      const { openStore } = await import(${storeModule})
      const store = await openStore(${JSON.stringify(file)})
      await store.runs.insert({ id: String(process.pid), config: {}, created: 0 })
      await store.close()`
    const children = [0, 1, 2].map(() =>
      spawn(process.execPath, ['--input-type=module', '--eval', script], {
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    )
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]))
    expect(codes).toEqual([0, 0, 0])
    await using store = await openStore(file)
    expect(await store.runs.list()).toHaveLength(3)
  })

  // [STORE-4]
  it('a reader leaves a store of an earlier release to the processes of that release', async () => {
    const file = join(dir, 'store.db')
    const first = await openStore(file)
    await first.runs.insert({ id: run, config: {}, created: 1 })
    await first.close()
    undoMigrations(file)
    const applied = () => {
      using database = new DatabaseSync(file, { readOnly: true })
      return database.prepare('select count(*) as n from kysely_migration').get()?.n
    }
    const before = applied()
    {
      await using store = await openStore(file, { create: false, access: 'read' })
      expect((await store.runs.get(run))?.id).toBe(run)
    }
    expect(applied()).toBe(before)
    const writing = await openStore(file)
    await writing.close()
    expect(applied()).toBeGreaterThan(Number(before))
  })

  // [STORE-3]
  it('a store of a later release is refused and left as it was', async () => {
    const file = join(dir, 'store.db')
    await (await openStore(file)).close()
    const database = new DatabaseSync(file)
    database.exec("insert into kysely_migration values ('9999_future', '2099-01-01')")
    database.close()
    await expect(openStore(file)).rejects.toMatchObject({ kind: 'newer_schema', permanent: true })
    await expect(openStore(file)).rejects.toThrow('9999_future')
  })

  it('a missing file is refused where it must not be created', async () => {
    await expect(openStore(join(dir, 'none.db'), { create: false })).rejects.toMatchObject({
      kind: 'missing',
    })
  })

  // [STORE-3]
  it('a file that is no database is refused as corrupt, by name', async () => {
    const file = join(dir, 'store.db')
    writeFileSync(file, 'no database at all, but long enough to be read as a header of one'.repeat(20))
    await expect(openStore(file)).rejects.toMatchObject({ kind: 'corrupt' })
    await expect(openStore(file)).rejects.toThrow(file)
  })

  it('a file in a folder that does not exist is refused', async () => {
    await expect(openStore(join(dir, 'no', 'store.db'))).rejects.toBeInstanceOf(StorageFault)
  })

  it('a closed store refuses work', async () => {
    const store = await openStore(join(dir, 'store.db'))
    await store.close()
    await expect(store.runs.list()).rejects.toThrow()
  })

  it('a write that was confirmed to a process survives when the process is killed', async () => {
    const file = join(dir, 'store.db')
    const storeModule = JSON.stringify(new URL('./store.ts', import.meta.url).href)
    const script = `
      const { openStore } = await import(${storeModule})
      const store = await openStore(${JSON.stringify(file)})
      for (let number = 0; ; number++) {
        await store.groups.insert({ id: 'demo/g' + number, run: 'demo', number, task: 't', instance: 'i', version: 0, created: 0 })
        process.stdout.write(number + '\\n')
        await new Promise((resolve) => setImmediate(resolve))
      }`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let last = -1
    for await (const line of createInterface({ input: child.stdout })) {
      last = Number(line)
      if (last >= 50) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await using store = await openStore(file)
    const numbers = (await store.groups.list(run)).map((one) => one.number)
    expect(numbers.length).toBeGreaterThanOrEqual(last + 1)
    expect(numbers).toEqual(numbers.map((_, index) => index))
  })
})

describe('faults of SQLite', () => {
  it('a store that another process keeps locked is a fault that a retry repairs', () => {
    const file = join(dir, 'store.db')
    const holder = openSqlite(file)
    holder.exec('create table t (a integer)')
    holder.exec('begin immediate')
    const database = openSqlite(file, 1)
    const adapted = kyselyDatabase(database, file)
    const insert = adapted.prepare('insert into t values (?)')
    expect(() => insert.run([1])).toThrow(expect.objectContaining({ kind: 'locked', permanent: false }))
    holder.exec('commit')
    expect(insert.run([1]).changes).toBe(1)
    adapted.close()
    holder.close()
  })

  it('a full disk is a fault that a retry repairs, and what was written before stays', () => {
    const file = join(dir, 'store.db')
    const database = openSqlite(file)
    database.exec('create table t (a blob)')
    database.exec('pragma max_page_count = 8')
    const adapted = kyselyDatabase(database, file)
    const insert = adapted.prepare('insert into t values (?)')
    insert.run([new Uint8Array(100)])
    expect(() => insert.run([new Uint8Array(100_000)])).toThrow(
      expect.objectContaining({
        kind: 'disk_full',
        permanent: false,
        message: expect.stringContaining(file),
      }),
    )
    database.exec('pragma max_page_count = 1000')
    insert.run([new Uint8Array(100_000)])
    expect(adapted.prepare('select count(*) as n from t').all([])).toEqual([{ n: 2 }])
    adapted.close()
  })

  it('a disk that fills within a transaction is reported as full, which a retry repairs', async () => {
    const file = join(dir, 'store.db')
    const database = openSqlite(file)
    database.exec('create table t (a blob)')
    database.exec('pragma max_page_count = 8')
    const dialect = new SqliteDialect({ database: kyselyDatabase(database, file) })
    await using db = new Kysely<{ t: { a: Uint8Array } }>({ dialect })
    const insertBoth = () =>
      db.transaction().execute(async (transaction) => {
        for (const length of [100, 100_000])
          await transaction
            .insertInto('t')
            .values({ a: new Uint8Array(length) })
            .execute()
      })
    await expect(insertBoth()).rejects.toMatchObject({ kind: 'disk_full', permanent: false })
    expect(await db.selectFrom('t').selectAll().execute()).toEqual([])
    database.exec('pragma max_page_count = 1000')
    await insertBoth()
    expect(await db.selectFrom('t').selectAll().execute()).toHaveLength(2)
  })

  it('a stream has a statement of its own', () => {
    const file = join(dir, 'store.db')
    const database = openSqlite(file)
    database.exec('create table t (a integer); insert into t values (1), (2), (3)')
    const adapted = kyselyDatabase(database, file)
    const select = adapted.prepare('select a from t order by a')
    const seen: unknown[] = []
    for (const row of select.iterate([])) {
      seen.push(row)
      expect(select.all([])).toHaveLength(3)
    }
    expect(seen).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }])
    adapted.close()
  })
})
