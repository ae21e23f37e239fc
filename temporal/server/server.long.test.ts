import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Connection } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { isAlive, processOf, writtenProcess } from '../../machine/processes/process.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { connect } from '../connection.ts'
import { readRecord, serverPaths, writeRecord } from './record.ts'
import { inspectTemporal, startTemporal, stopTemporal } from './server.ts'
import { chooseFreePorts, isPortOpen, type ServerPorts } from './startup/ports.ts'
import { joinUsers } from './users.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'perdure-server-'))
  vi.stubEnv('TEMPORAL_ADDRESS', undefined)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await stopTemporal(home).catch(() => undefined)
  rmSync(home, { recursive: true, force: true })
})

/** A home whose server has run and ended. */
let written: string
beforeAll(async () => {
  written = mkdtempSync(join(tmpdir(), 'perdure-server-'))
  vi.stubEnv('TEMPORAL_ADDRESS', undefined)
  await (await startTemporal(written)).close()
})
afterAll(() => rmSync(written, { recursive: true, force: true }))

/** Copies the database with the files beside it, which hold the latest writes. */
function copyDatabase(from: string, to: string): void {
  const database = basename(serverPaths(from).database)
  for (const file of readdirSync(from))
    if (file.startsWith(database)) copyFileSync(join(from, file), join(to, file))
}

const serverModule = new URL('./server.ts', import.meta.url).href

// [SERVER-ELSEWHERE-1] [PROCESS-1]
test.runIf(process.platform === 'linux')(
  'a home whose server runs in another container gets no second one while it is used there',
  async () => {
    const paths = serverPaths(home)
    const ports = await chooseFreePorts(undefined)
    if (ports === undefined) throw new Error('no ports are free')
    const there = { ...processOf(process.pid), pid: 7, namespace: '1' }
    const record = { ...ports, serverVersion: '1.0.0', pid: there.pid, process: writtenProcess(there) }
    writeRecord(paths.record, record)
    const user = joinUsers(paths.users)
    await expect(startTemporal(home)).rejects.toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(/runs in another container \(process 7 there\)/),
    })
    expect(readRecord(paths.record)).toEqual(record)
    user.leave()
    // No living process uses it any more.
    await (await startTemporal(home)).close()
  },
)

test('a second user reuses the running server; the last one that leaves stops it', async () => {
  const first = await startTemporal(home)
  const second = await startTemporal(home)
  expect(first.reused).toBe(false)
  expect(second.reused).toBe(true)
  expect(second).toMatchObject({ pid: first.pid, address: first.address, uiUrl: first.uiUrl })
  expect(await first.isAlone()).toBe(false)

  await first.close()
  await first.close()
  expect(await second.isAlone()).toBe(true)
  expect(await inspectTemporal(home)).toMatchObject({ running: true, users: 1 })
  await second.close()
  expect(await inspectTemporal(home)).toMatchObject({ running: false, users: 0 })
  expect(isAlive({ pid: first.pid })).toBe(false)

  const later = await startTemporal(home)
  expect(later.address).toBe(first.address)
  await later.close()
})

test('homes whose names mean something in an address keep the files of their servers inside, and stop their servers', async () => {
  const names = ['exp#1', 'exp#2', '%41 100%', `it's "all" \\?mode=memory&\n✓`]
  const homes = names.map((name) => join(home, name))
  const servers = await Promise.all(homes.map((each) => startTemporal(each)))
  for (const each of homes) {
    expect(await inspectTemporal(each)).toMatchObject({ running: true, users: 1 })
    expect(readdirSync(each)).toContain(basename(serverPaths(each).database))
  }
  expect(readdirSync(home).sort()).toEqual(names.sort())
  for (const server of servers) await server.close()
  for (const { pid } of servers) expect(isAlive({ pid })).toBe(false)
})

test('a home has at most one server however many start it at once', async () => {
  const users = await Promise.all([startTemporal(home), startTemporal(home), startTemporal(home)])
  expect(new Set(users.map(({ pid }) => pid)).size).toBe(1)
  expect(users.filter(({ reused }) => !reused)).toHaveLength(1)
  await Promise.all(users.map((user) => user.close()))
  expect(await inspectTemporal(home)).toMatchObject({ running: false })
})

test('a copy of a home has a server of its own while that of the original runs', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'perdure-server-'))
  try {
    copyDatabase(written, home)
    copyDatabase(written, copy)
    const original = await startTemporal(home)
    copyFileSync(serverPaths(home).record, serverPaths(copy).record)
    const own = await startTemporal(copy)
    expect(own.reused).toBe(false)
    expect(own.pid).not.toBe(original.pid)
    await own.close()
    expect(await inspectTemporal(home)).toMatchObject({ running: true, users: 1 })
    await original.close()
  } finally {
    await stopTemporal(copy)
    rmSync(copy, { recursive: true, force: true })
  }
})

test('two homes have two servers on different ports', async () => {
  const otherHome = mkdtempSync(join(tmpdir(), 'perdure-server-'))
  try {
    const [one, other] = await Promise.all([startTemporal(home), startTemporal(otherHome)])
    expect(one.address).not.toBe(other.address)
    expect((await inspectTemporal(home))?.record.clusterId).not.toBe(
      (await inspectTemporal(otherHome))?.record.clusterId,
    )
    await Promise.all([one.close(), other.close()])
  } finally {
    await stopTemporal(otherHome)
    rmSync(otherHome, { recursive: true, force: true })
  }
})

test('a server that a killed user leaves behind is reused by the next one and stopped by it', async () => {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { startTemporal } from '${serverModule}'
       const server = await startTemporal(${JSON.stringify(home)})
       console.log(server.pid)
       setInterval(() => undefined, 1e9)`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await inspectTemporal(home)).toMatchObject({ running: true, users: 0 })

  const next = await startTemporal(home)
  expect(next).toMatchObject({ reused: true, pid: Number(said.toString()) })
  await next.close()
  expect(isAlive({ pid: next.pid })).toBe(false)
})

test('a server that dies is started again on the same ports', async () => {
  const server = await startTemporal(home)
  const former = server.pid
  process.kill(former, 'SIGKILL')
  await vi.waitFor(() => expect(server.pid).not.toBe(former), { timeout: 30_000, interval: 50 })
  expect(server.restarts).toBe(1)
  expect(readRecord(serverPaths(home).record)).toMatchObject({ port: Number(server.address.split(':')[1]) })
  const connection = await Connection.connect({ address: server.address })
  await connection.close()
  await server.close()
})

test('the namespace keeps histories for a year and knows the search attributes; another is refused by its name', async () => {
  const way = await connect(home)
  const connection = await Connection.connect(way.options)
  const { config } = await connection.workflowService.describeNamespace({ namespace: way.namespace })
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds) / 86400).toBe(365)
  const { customAttributes } = await connection.operatorService.listSearchAttributes({
    namespace: way.namespace,
  })
  expect(customAttributes).toMatchObject({ PerdureRun: 2, PerdureVersion: 3, PerdureReward: 4 })
  await connection.close()
  expect(await isPortOpen(Number(new URL(way.uiUrl ?? '').port))).toBe(true)

  // Another namespace is refused by its name.
  vi.stubEnv('TEMPORAL_ADDRESS', way.options?.address)
  vi.stubEnv('TEMPORAL_NAMESPACE', 'nowhere')
  await expect(connect(home)).rejects.toMatchObject({
    kind: 'unknown_namespace',
    message: expect.stringContaining('has no namespace "nowhere": correct TEMPORAL_NAMESPACE'),
  })
  await way.close()
})

/** Takes the next free port of a server, or of its user interface, before anybody else does. */
async function holdPort(which: keyof ServerPorts): Promise<AsyncDisposable & { readonly port: number }> {
  for (;;) {
    const { [which]: port = 0 } = (await chooseFreePorts(undefined)) ?? {}
    const squatter = createServer().listen(port, '127.0.0.1')
    const isHeld = await new Promise((resolve) => {
      squatter.once('listening', () => resolve(true)).once('error', () => resolve(false))
    })
    if (isHeld) return Object.assign(squatter, { port })
  }
}

test('the list of executions is indexed where its fields have values', () => {
  using database = new DatabaseSync(serverPaths(written).database)
  const indexes = database
    .prepare(
      "select sql like '% is not null' as partial from sqlite_master where type = 'index' and name = ?",
    )
    .all('by_keyword_01')
  expect(indexes).toEqual([{ partial: 1 }])
})

test('ports in use are passed over at the first start', async () => {
  await using frontend = await holdPort('port')
  await using ui = await holdPort('uiPort')
  const server = await startTemporal(home)
  expect(server.address).not.toContain(`:${frontend.port}`)
  expect(server.uiUrl).not.toContain(`:${ui.port}`)
  await server.close()
})

test('the search for ports begins where the environment says', async () => {
  vi.stubEnv('PERDURE_TEMPORAL_PORT', '20000')
  const server = await startTemporal(home)
  const port = Number(server.address.split(':')[1])
  expect(port).toBeGreaterThanOrEqual(20_000)
  expect(server.uiUrl).toContain(`:${port + 1000}`)
  await server.close()
})

test.each(['0', '70000', '64600', 'seven'])('"%s" is no first port and is refused by name', async (named) => {
  vi.stubEnv('PERDURE_TEMPORAL_PORT', named)
  await expect(startTemporal(home)).rejects.toMatchObject({
    kind: 'bad_settings',
    message: expect.stringContaining(`PERDURE_TEMPORAL_PORT is "${named}"`),
  })
})

test('a file of no bytes is one that was never written', async () => {
  writeFileSync(serverPaths(home).database, '')
  const server = await startTemporal(home)
  await server.close()
  expect(statSync(serverPaths(home).database).size).toBeGreaterThan(0)
})

test('a file that is no database is refused by name and left as it is', async () => {
  const { temporalFile } = homeAt(home)
  writeFileSync(temporalFile, 'this is not a database, it is a sentence')
  await expect(startTemporal(home)).rejects.toMatchObject({
    name: 'TemporalFault',
    kind: 'corrupt_file',
    message: expect.stringContaining(temporalFile),
  })
  expect(readFileSync(temporalFile, 'utf8')).toBe('this is not a database, it is a sentence')
})

test('a damaged database is refused', async () => {
  const { temporalFile } = homeAt(home)
  copyDatabase(written, home)
  const database = new DatabaseSync(temporalFile)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const bytes = readFileSync(temporalFile)
  writeFileSync(temporalFile, bytes.fill(0x5a, 100))
  await expect(startTemporal(home)).rejects.toMatchObject({ kind: 'corrupt_file' })
})

test('a database whose tables are those of another version is refused', async () => {
  copyDatabase(written, home)
  const database = new DatabaseSync(homeAt(home).temporalFile)
  database.exec('DROP TABLE executions; DROP TABLE namespaces; DROP TABLE cluster_metadata_info')
  database.close()
  await expect(startTemporal(home)).rejects.toMatchObject({ kind: 'incompatible_file' })
})

test('a server older than the one that wrote the file is not let near it', async () => {
  mkdirSync(home, { recursive: true })
  writeRecord(serverPaths(home).record, { port: 7233, uiPort: 8233, serverVersion: '99.0.0' })
  await expect(startTemporal(home)).rejects.toMatchObject({
    kind: 'incompatible_file',
    message: expect.stringContaining('99.0.0'),
  })
})

test('a home that cannot be made is an error that says what to do', async () => {
  const file = join(home, 'file')
  writeFileSync(file, '')
  await expect(startTemporal(join(file, 'home'))).rejects.toMatchObject({
    kind: 'no_permission',
    message: expect.stringContaining('--home'),
  })
})

test('a server that the environment names wins and is not started', async () => {
  vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:9')
  await expect(connect(home)).rejects.toMatchObject({
    kind: 'unreachable',
    message: expect.stringContaining('127.0.0.1:9'),
  })
  expect(await inspectTemporal(home)).toBeUndefined()
})
