/** Each kind of damage to a home is named, repaired where it can be, and reported as well afterwards. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { publishCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { tinyArchitecture, tinyWeights } from '../../policy/checkpoints/policy.testing.ts'
import { createHome, createRunDirectory, type Home } from '../../storage/disk/home.ts'
import { readMetrics, update } from '../../storage/metrics/metrics.testing.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { tryLock } from '../../temporal/server/file-lock.ts'
import { serverPaths, writeRecord } from '../../temporal/server/record.ts'
import { joinUsers } from '../../temporal/server/users.ts'
import type { Check } from './check.ts'
import { examineHome } from './home-checks.ts'
import { checkFileSystem } from './machine-checks.ts'

const run = runId('demo')
let home: Home

async function publish(version: number): Promise<void> {
  const state = { version, step: version, chat: 'compact' as const, facts: {} }
  await publishCheckpoint(home.run(run).checkpointDir(version), {
    architecture: tinyArchitecture,
    weights: tinyWeights(() => 0),
    tokenizer: '{}',
    state,
  })
}

beforeEach(async () => {
  vi.stubEnv('TEMPORAL_ADDRESS', undefined)
  home = createHome(mkdtempSync(join(tmpdir(), 'perdure-doctor-')))
  createRunDirectory(home, run)
  await using store = await openStore(home.storeFile)
  await store.runs.insert({ id: run, config: configSchema.parse({}), created: 1 })
  await store.runs.publish(run, { version: 2, state: {} })
  await store.runs.setStatus(run, 'done')
  for (const version of [0, 1, 2]) await publish(version)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home.dir, { recursive: true, force: true })
})

async function examine(repair = false): Promise<readonly Check[]> {
  return examineHome(home.dir, { repair })
}

/** The checks that are not ok. */
async function troubles(repair = false): Promise<readonly Check[]> {
  return (await examine(repair)).filter(({ state }) => state !== 'ok')
}

/** It is named and left alone, then repaired, then gone. */
async function expectRepaired(found: Partial<Check>): Promise<void> {
  const [seen, ...others] = await troubles()
  expect(seen).toMatchObject(found)
  expect(seen?.advice ?? '').not.toBe('')
  expect(others).toEqual([])
  expect(await troubles()).toHaveLength(1)
  expect(await troubles(true)).toMatchObject([{ name: found.name, state: 'repaired' }])
  expect(await troubles()).toEqual([])
}

it('a home in order has nothing to tell, and a home that is not there neither', async () => {
  expect(await troubles()).toEqual([])
  expect(await examineHome(join(home.dir, 'none'), { repair: false })).toEqual([])
  expect(existsSync(join(home.dir, 'none'))).toBe(false)
})

describe('a checkpoint', () => {
  it('with a changed byte is named and moved aside, and the one before it is used instead', async () => {
    const dir = home.run(run).checkpointDir(2)
    truncateSync(join(dir, 'model.safetensors'), 100)
    await expectRepaired({ name: 'run demo', state: 'wrong', detail: expect.stringContaining(dir) })
    expect(readdirSync(home.asideDir)).toEqual(['demo-checkpoint-2'])
    expect(existsSync(join(home.asideDir, 'demo-checkpoint-2', 'model.safetensors'))).toBe(true)
    expect(existsSync(dir)).toBe(false)
  })

  it('without a manifest is named and moved aside', async () => {
    rmSync(join(home.run(run).checkpointDir(1), 'manifest.json'))
    await expectRepaired({
      name: 'run demo',
      state: 'wrong',
      detail: expect.stringContaining('manifest.json'),
    })
  })

  it('is not moved under a process that lives', async () => {
    rmSync(join(home.run(run).checkpointDir(1), 'manifest.json'))
    mkdirSync(serverPaths(home.dir).locks, { recursive: true })
    const lock = holdUser()
    try {
      const store = { name: 'run demo', state: 'wrong', advice: expect.stringContaining('end them') }
      expect(checkOf(await withoutServer(true))).toMatchObject(store)
      expect(existsSync(home.run(run).checkpointDir(1))).toBe(true)
    } finally {
      lock.leave()
    }
  })

  it('that is the newest and missing is named, with the one that is used instead', async () => {
    rmSync(home.run(run).checkpointDir(2), { recursive: true })
    expect(await troubles(true)).toMatchObject([
      {
        name: 'run demo',
        state: 'warning',
        detail: expect.stringMatching(/version 2, .* missing; version 1 is used in its place/),
        advice: expect.stringContaining(home.run(run).checkpointDir(2)),
      },
    ])
  })

  it('that is missing altogether is reported', async () => {
    rmSync(home.run(run).checkpointsDir, { recursive: true })
    expect(await troubles(true)).toMatchObject([{ name: 'run demo', state: 'wrong' }])
  })
})

async function inStore(work: (store: Store) => Promise<void>): Promise<void> {
  await using store = await openStore(home.storeFile)
  await work(store)
}

describe('metrics.jsonl', () => {
  const line = update(1)
  const damages: readonly (readonly [string, (file: string) => void])[] = [
    ['is missing', (file) => rmSync(file)],
    ['is empty', (file) => truncateSync(file, 0)],
    ['is torn', (file) => truncateSync(file, 40)],
    ['is damaged in the middle', (file) => writeFileSync(file, `garbage\n${readFileSync(file, 'utf8')}`)],
    ['holds a line twice', (file) => appendFileSync(file, readFileSync(file))],
  ]

  it.each(damages)('that %s is named and made again from the store', async (_, damage) => {
    const { metricsFile } = home.run(run)
    await inStore(async (store) => {
      for (const step of [1, 2]) await store.metrics.put(run, { ...line, step, version: step })
      await store.metrics.write(run, metricsFile)
    })
    const whole = readFileSync(metricsFile, 'utf8')
    damage(metricsFile)
    await expectRepaired({ name: 'run demo', state: 'warning', detail: expect.stringContaining(metricsFile) })
    expect(readFileSync(metricsFile, 'utf8')).toBe(whole)
  })

  it('whose lines the store has lost is made again from what was done', async () => {
    const { step: _, version: __, time: ___, ...figures } = line
    const statistics = { ...figures, actionTokens: 1, staleShare: 0, comparedShare: 0, referenceKl: 0 }
    const more = {
      ...{ clipFraction: 0, gradientNorm: 0, groupsWithPreference: 0, waitSeconds: 1, trainSeconds: 2 },
      ...{ shapedReward: figures.shaped_reward, skipped: { ...figures.skipped, seconds: 0 } },
      signal: { groups: 1, withPreference: 0, won: 0, lost: 1, unusable: 0, cutOff: 0 },
    }
    await inStore(async (store) => {
      for (const step of [1, 2, 3])
        await store.updates.put(
          { run, step, version: step, statistics: { ...statistics, ...more }, groups: [], created: 1 },
          [],
        )
    })
    await expectRepaired({
      name: 'run demo',
      state: 'warning',
      detail: expect.stringContaining('is missing'),
    })
    // The third is not published.
    expect(readMetrics(home.run(run).metricsFile)).toMatchObject([
      { step: 1 },
      { step: 2, seconds: { wait: 1 } },
    ])
  })
})

/** Works on the store with its schema open to writing. */
function withSchema<T>(work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(home.storeFile, { defensive: false })
  try {
    database.exec('pragma writable_schema = on')
    return work(database)
  } finally {
    database.close()
  }
}

/** The checks that need no server, as where processes use the home. */
async function withoutServer(repair: boolean): Promise<readonly Check[]> {
  const { checkRuns } = await import('./run-checks.ts')
  return checkRuns(home, async () => true, { repair, inUse: true })
}

function checkOf(checks: readonly Check[]): Check | undefined {
  return checks.find(({ name }) => name === 'run demo')
}

function holdUser() {
  return joinUsers(serverPaths(home.dir).users)
}

it('files of writers that died are named and removed', async () => {
  const { checkpointsDir, batchesDir } = home.run(run)
  mkdirSync(join(checkpointsDir, '.3.0123456789ab.partial'))
  writeFileSync(join(batchesDir, '.4.safetensors.0123456789ab.partial'), 'x')
  await expectRepaired({ name: 'leftovers', state: 'warning', detail: expect.stringContaining('2 files') })
})

it('the file system of a home is named: one of the network is wrong, a shared folder is a warning', () => {
  const found = (kind: 'local' | 'network' | 'unsure') => checkFileSystem({ name: 'thatfs', kind })
  expect(found('local')).toMatchObject({ state: 'ok', detail: 'thatfs' })
  expect(found('unsure')).toMatchObject({ state: 'warning', detail: expect.stringContaining('thatfs') })
  expect(found('network')).toMatchObject({
    state: 'wrong',
    detail: expect.stringContaining('network file system (thatfs)'),
    advice: expect.stringMatching(/^Choose a directory on a local disk .*\.$/),
  })
})

describe('the store', () => {
  it('that is no database is named, and nothing else is looked at', async () => {
    writeFileSync(home.storeFile, 'not a database at all, and rather long for one'.repeat(100))
    rmSync(`${home.storeFile}-wal`, { force: true })
    expect(await troubles()).toMatchObject([{ name: 'store', state: 'wrong' }])
    expect(await troubles(true)).toMatchObject([
      { name: 'store', state: 'wrong', advice: expect.stringContaining('restore a backup') },
    ])
  })

  it('whose index is damaged is repaired, and a copy of it put aside', async () => {
    const entry = withSchema((database) => {
      const found = database.prepare("select * from sqlite_master where name = 'leases_of_owner'").get()
      database.exec("delete from sqlite_master where name = 'leases_of_owner'")
      return found
    })
    withSchema((database) => database.exec("insert into leases values ('a', 'folder', 'o', 9e15)"))
    withSchema((database) => {
      const back = database.prepare('insert into sqlite_master values (?, ?, ?, ?, ?)')
      back.run(...['type', 'name', 'tbl_name', 'rootpage', 'sql'].map((column) => entry?.[column] ?? null))
    })
    await expectRepaired({
      name: 'store',
      state: 'wrong',
      detail: expect.stringContaining('missing from index'),
    })
    expect(readdirSync(home.asideDir)).toEqual([expect.stringMatching(/^store-\d+\.db$/)])
  })

  it('of a later release is named', async () => {
    const database = new DatabaseSync(home.storeFile)
    database.exec("insert into kysely_migration values ('9999_future', '2099-01-01')")
    database.close()
    expect(await troubles(true)).toMatchObject([
      { name: 'schema', state: 'wrong', detail: expect.stringContaining('later release') },
    ])
  })

  it('whose log a killed process left is named and taken in', async () => {
    const kept = ['', '-wal'].map((suffix) => `${home.storeFile}${suffix}`)
    const script = `
      const { DatabaseSync } = require('node:sqlite')
      const database = new DatabaseSync(${JSON.stringify(home.storeFile)})
      database.exec("insert into leases values ('x', 'folder', 'o', 9e15)")
      process.kill(process.pid, 'SIGKILL')`
    expect(spawnSync(process.execPath, ['-e', script]).signal).toBe('SIGKILL')
    expect(kept.every((file) => existsSync(file))).toBe(true)
    expect(await troubles()).toMatchObject([{ name: 'store.db-wal', state: 'repaired' }])
    expect(await troubles()).toEqual([])
    await using store = await openStore(home.storeFile)
    expect(await store.leases.list('folder')).toMatchObject([{ id: 'x' }])
  })

  it('that is missing where there are runs is named', async () => {
    renameSync(home.storeFile, join(home.dir, 'elsewhere'))
    expect(await troubles(true)).toMatchObject([
      { name: 'store', state: 'wrong', detail: expect.stringContaining('demo') },
    ])
    copyFileSync(join(home.dir, 'elsewhere'), home.storeFile)
    expect(await troubles()).toEqual([])
  })
})

it('leases of dead owners are named and ended', async () => {
  await using store = await openStore(home.storeFile)
  await store.leases.take({ id: 'perdure-dead', kind: 'container', owner: 'o', expires: 1 })
  await store.leases.take({ id: 'perdure-live', kind: 'container', owner: 'p', expires: Date.now() + 1e6 })
  const found = (await troubles()).find(({ name }) => name === 'leases')
  expect(found).toMatchObject({ state: 'warning', detail: expect.stringContaining('perdure-dead') })
  await examine(true)
  expect((await store.leases.list('container')).map(({ id }) => id)).toEqual(['perdure-live'])
})

describe('a run', () => {
  it('that was left in the middle is named, with how to continue', async () => {
    await using store = await openStore(home.storeFile)
    await store.runs.setStatus(run, 'running')
    const found = (await troubles(true)).find(({ name }) => name === 'run demo')
    expect(found).toMatchObject({ state: 'warning', advice: expect.stringContaining('perdure resume demo') })
  })

  it('whose directory the store does not know is named and left alone', async () => {
    createRunDirectory(home, runId('stray'))
    expect(await troubles(true)).toMatchObject([{ name: 'run stray', state: 'warning' }])
    expect(existsSync(home.run(runId('stray')).dir)).toBe(true)
  })
})

describe("the server's", () => {
  const ports = { port: 7233, uiPort: 8233 }

  it('record of a process that is gone is named and put right', async () => {
    mkdirSync(serverPaths(home.dir).locks, { recursive: true })
    writeRecord(serverPaths(home.dir).record, { ...ports, pid: 2 ** 22 - 1, serverVersion: '1.0.0' })
    await expectRepaired({ name: 'server record', state: 'warning' })
  })

  it('record that cannot be read is named and moved aside', async () => {
    writeFileSync(serverPaths(home.dir).record, '{"pid"')
    await expectRepaired({ name: 'server record', state: 'warning' })
    expect(readdirSync(home.asideDir)).toEqual(['temporal.json'])
  })

  it('file that is damaged is named and moved aside', async () => {
    writeFileSync(home.temporalFile, 'no database'.repeat(1000))
    await expectRepaired({ name: 'temporal.db', state: 'wrong' })
    expect(readdirSync(home.asideDir)).toEqual([expect.stringMatching(/^temporal-\d+\.db$/)])
  })

  it('file that is empty is named and moved aside', async () => {
    writeFileSync(home.temporalFile, '')
    await expectRepaired({ name: 'temporal.db', state: 'wrong', detail: expect.stringContaining('empty') })
  })

  it('file with an index that is damaged is named', async () => {
    const database = new DatabaseSync(home.temporalFile)
    database.exec('create table t (a); create index i on t (a); insert into t values (1), (2)')
    const page = database.prepare("select rootpage from sqlite_master where name = 'i'").get()?.rootpage
    database.close()
    const bytes = readFileSync(home.temporalFile)
    const size = bytes.readUInt16BE(16)
    // The last byte of a leaf is the end of its first entry.
    bytes.writeUInt8(bytes.readUInt8(Number(page) * size - 2) ^ 0x7f, Number(page) * size - 2)
    writeFileSync(home.temporalFile, bytes)
    expect(await troubles()).toMatchObject([{ name: 'temporal.db', state: 'wrong' }])
  })

  it('file of a newer server is named', async () => {
    const database = new DatabaseSync(home.temporalFile)
    database.exec('create table t (a)')
    database.close()
    writeRecord(serverPaths(home.dir).record, { ...ports, serverVersion: '999.0.0' })
    const { checkServerHome } = await import('./server-checks.ts')
    const binary = {
      path: '/bin/temporal',
      cliVersion: '1.0.0',
      serverVersion: '1.0.0',
      canDisableNews: false,
    }
    expect(await checkServerHome(home, binary, { repair: true, inUse: false })).toContainEqual(
      expect.objectContaining({
        name: 'temporal.db',
        state: 'wrong',
        detail: expect.stringContaining('999'),
      }),
    )
  })

  it('locks of killed processes are named and removed', async () => {
    const { users } = serverPaths(home.dir)
    mkdirSync(users, { recursive: true })
    const file = join(users, '1-dead')
    tryLock(file)?.release()
    writeFileSync(file, '', { flag: 'a' })
    await expectRepaired({ name: 'locks', state: 'warning' })
  })
})
