import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockWithin, tryLock } from './file-lock.ts'
import { countUsers, joinUsers } from './users.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const lockModule = new URL('./file-lock.ts', import.meta.url).href
const usersModule = new URL('./users.ts', import.meta.url).href

/** A process that does one thing with locks and then waits for its end. */
async function holder(code: string) {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', `${code}; console.log('ready'); setInterval(() => undefined, 1e9)`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  return {
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

test('at most one holder within a process', () => {
  const file = join(folder, 'lock')
  const lock = tryLock(file)
  expect(lock).toBeDefined()
  expect(tryLock(file)).toBeUndefined()
  lock?.release()
  lock?.release()
  const again = tryLock(file)
  expect(again).toBeDefined()
  again?.release()
})

test('at most one holder among processes, and a killed holder holds nothing', async () => {
  const file = join(folder, 'lock')
  const other = await holder(
    `import { tryLock } from '${lockModule}'; if (!tryLock('${file}')) throw new Error('not free')`,
  )
  expect(tryLock(file)).toBeUndefined()
  await other.kill()
  const lock = await lockWithin(file, 5000)
  expect(lock).toBeDefined()
  lock?.release()
})

test('a lock that stays taken is given up after the time', async () => {
  const lock = tryLock(join(folder, 'lock'))
  expect(await lockWithin(join(folder, 'lock'), 50)).toBeUndefined()
  lock?.release()
})

test('locks leave no second file behind', () => {
  const lock = tryLock(join(folder, 'lock'))
  expect(readdirSync(folder)).toEqual(['lock'])
  lock?.release()
})

test('a user counts until it leaves', () => {
  const users = join(folder, 'users')
  expect(countUsers(users)).toBe(0)
  const first = joinUsers(users)
  const second = joinUsers(users)
  expect(countUsers(users)).toBe(2)
  first.leave()
  first.leave()
  expect(countUsers(users)).toBe(1)
  second.leave()
  expect(countUsers(users)).toBe(0)
})

test('a user that was killed does not count and is forgotten', async () => {
  const users = join(folder, 'users')
  const other = await holder(`import { joinUsers } from '${usersModule}'; joinUsers('${users}')`)
  expect(countUsers(users)).toBe(1)
  await other.kill()
  expect(countUsers(users)).toBe(0)
  expect(readdirSync(users)).toEqual([])
})
