import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createProcessLeases } from '../../../machine/processes/lease.ts'
import type { AssistantMessage } from '../../../messages/message.ts'
import {
  databaseServerMissing,
  startDatabaseServer,
  type TestDatabaseServer,
} from '../../../test/host/database-server.ts'
import type { Environment, Task } from '../../contract/environment.ts'
import { db } from '../definition.ts'
import { hostileStatements } from '../hostile-statements.testing.ts'
import { Administrator, leasedOf } from './administrator.ts'
import { reap } from './backend.ts'
import { connectionOptions } from './connection.ts'

function called(name: string, args: object): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: args as never }] }
}

test('no server is said with what to do, and without the password', async () => {
  const opened = db.open({ settings: { url: 'mysql://root:geheim@127.0.0.1:1' } })
  await expect(opened).rejects.toMatchObject({ kind: 'backend' })
  await expect(opened).rejects.toThrow(/leave it out to use embedded databases/)
  await expect(opened).rejects.not.toThrow(/geheim/)
})

describe.skipIf(databaseServerMissing() !== undefined)('databases on a server', { timeout: 120_000 }, () => {
  const leases = createProcessLeases()
  let administrator: Administrator
  let task: Task
  let environment: Environment
  let server: TestDatabaseServer
  let url: string
  beforeAll(async () => {
    server = await startDatabaseServer()
    url = server.url
    administrator = await Administrator.connect(new URL(url))
    task = await db.open({ settings: { url, difficulty: 'easy', deadlineSeconds: 0.3 }, leases })
    environment = await task.create()
  })
  afterAll(async () => {
    await environment.close()
    await task.close()
    await administrator.close()
    await server.close()
  })

  async function own(): Promise<number> {
    return (await administrator.list()).filter((name) => leasedOf(name)?.scope === leases.scope).length
  }

  test('gold statements solve built-in problems as on embedded databases', async () => {
    for (const split of ['train', 'test'])
      for (let index = 0; index < 10; index++) {
        const instance = `${split}/${index}`
        await environment.reset(instance)
        const { actions = [] } = (await task.demonstrate?.(instance)) ?? {}
        const results = []
        for (const action of actions) results.push(await environment.step(action))
        expect(results.at(-1)).toMatchObject({ reward: 1, done: true })
      }
  })

  test('the names of database and user never reach the agent', async () => {
    await environment.reset('train/0')
    for (const query of ['SELECT DATABASE(), USER()', 'SELECT * FROM nothing', 'SHOW TABLES', 'SHOW GRANTS'])
      expect(JSON.stringify(await environment.step(called('execute_sql', { query })))).not.toMatch(/pdr_/)
  })

  test('a statement ends at its deadline, and the session continues', async () => {
    await environment.reset('train/0')
    const { messages } = await environment.step(called('execute_sql', { query: 'SELECT SLEEP(100)' }))
    expect(messages[0]?.content).toBe('error: timed out')
    expect((await environment.step(called('execute_sql', { query: 'SELECT 1' }))).info).toEqual({
      rows: [[1]],
    })
  })

  test.each(hostileStatements)('a hostile statement harms no other session: %s', async (_, sql) => {
    await environment.reset('train/4')
    const { messages, reward, done } = await environment.step(called('execute_sql', { query: sql }))
    expect({ reward, done }).toEqual({ reward: 0, done: false })
    for (const { content } of messages) {
      expect(content).not.toBe('')
      expect(content.length).toBeLessThan(2000)
    }
    await environment.reset('train/5')
    const { actions = [] } = (await task.demonstrate?.('train/5')) ?? {}
    const results = []
    for (const action of actions) results.push(await environment.step(action))
    expect(results.at(-1)).toMatchObject({ reward: 1, done: true })
    expect(await own()).toBe(1)
  })

  test('nothing is left of a closed task', async () => {
    const opened = await db.open({ settings: { url }, leases })
    const before = await own()
    for (let session = 0; session < 4; session++) await (await opened.create()).reset(`train/${session}`)
    expect(await own()).toBe(before + 4)
    await opened.close()
    expect(await own()).toBe(before)
  })

  test('hostile statements left nothing prepared and no lock', async () => {
    expect(await administrator.pool.query('XA RECOVER')).toEqual([])
    expect(await administrator.pool.query("SELECT IS_FREE_LOCK('perdure-hostile')")).toEqual([
      [{ kind: 'integer', text: '1' }],
    ])
  })

  test('what holds a session’s database does not hold up its end', async () => {
    const opened = await db.open({ settings: { url }, leases })
    const before = await administrator.list()
    const session = await opened.create()
    await session.reset('train/0')
    const [made = ''] = (await administrator.list()).filter((name) => !before.includes(name))
    const root = connectionOptions(new URL(url))
    const reader = await createConnection(root)
    const tables = await administrator.pool.query(`SHOW TABLES FROM ${made}`)
    await reader.query('START TRANSACTION')
    await reader.query(`SELECT * FROM ${made}.\`${tables[0]?.[0]?.text}\``)
    await session.close()
    expect(await administrator.list()).toContain(made)
    await reader.end()
    await vi.waitFor(async () => expect(await reap(administrator, leases, Date.now())).toBe(1))
    await opened.close()
  })

  test('a server that does not answer is a fault within seconds', async () => {
    const opened = await db.open({ settings: { url, deadlineSeconds: 0.3 }, leases })
    await (await opened.create()).reset('train/0')
    server.signal('SIGSTOP')
    try {
      const started = performance.now()
      await Promise.all([
        expect(db.open({ settings: { url } })).rejects.toMatchObject({ kind: 'backend' }),
        opened.close(),
      ])
      expect(performance.now() - started).toBeLessThan(60_000)
    } finally {
      server.signal('SIGCONT')
    }
  })

  test('databases and users of a killed process are removed by the next one', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'perdure-db-'))
    const script = path.join(folder, 'sessions.mjs')
    const module = path.join(import.meta.dirname, '..', 'definition.ts')
    writeFileSync(
      script,
      `import { db } from ${JSON.stringify(module)}
const task = await db.open({ settings: { url: ${JSON.stringify(url)} } })
for (let at = 0; at < 16; at++) await (await task.create()).reset('train/' + at)
console.log('open')
setInterval(() => {}, 1000)`,
    )
    try {
      const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((resolve) => child.once('exit', resolve))
      await new Promise((resolve) => child.stdout.once('data', resolve))
      const prefix = `p${child.pid}s`
      const left = async () =>
        (await administrator.list()).filter((name) => leasedOf(name)?.scope.startsWith(prefix))
      expect(await left()).toHaveLength(16)
      // A process that lives keeps what is its own.
      await reap(administrator, createProcessLeases(), Date.now())
      expect(await left()).toHaveLength(16)
      child.kill('SIGKILL')
      await ended
      await reap(administrator, createProcessLeases(), Date.now())
      expect(await left()).toEqual([])
      expect(await administrator.users()).toBeLessThanOrEqual((await administrator.list()).length)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
