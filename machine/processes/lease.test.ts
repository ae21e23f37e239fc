import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openStore, type Store } from '../../storage/store.ts'
import {
  createProcessLeases,
  endExpired,
  holdLeases,
  isUnowned,
  type LeaseStore,
  leaseFolder,
  leaseTtlMs,
  reapFolders,
  renewalPeriodMs,
} from './lease.ts'
import { processOfScopeAlive, processScope } from './process.ts'

let dir: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-leases-'))
  store = await openStore(join(dir, 'store.db'))
})
afterEach(async () => {
  vi.useRealTimers()
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

const stores: readonly [string, () => LeaseStore][] = [
  ['a store', () => store.leases],
  ['a process', createProcessLeases],
]

describe.each(stores)('the leases of %s', (_, open) => {
  test('taking a lease that is there changes nothing', async () => {
    const leases = open()
    await leases.take({ id: 'a', kind: 'container', owner: 'me', expires: 100 })
    await leases.take({ id: 'a', kind: 'folder', owner: 'you', expires: 200 })
    expect(await leases.list('container')).toEqual([
      { id: 'a', kind: 'container', owner: 'me', expires: 100 },
    ])
    expect(await leases.list('folder')).toEqual([])
  })

  test('a lease lives as long as it is renewed, and its owner learns when it was ended', async () => {
    const leases = open()
    await leases.take({ id: 'a', kind: 'container', owner: 'me', expires: 100 })
    await leases.take({ id: 'b', kind: 'container', owner: 'me', expires: 100 })
    await leases.take({ id: 'c', kind: 'container', owner: 'you', expires: 100 })
    expect(await leases.renew('me', 200)).toEqual(['a', 'b'])
    expect(await endExpired(leases, 'container', 150)).toEqual(new Set(['a', 'b']))
    expect(await leases.expire('a', 199)).toBe(false)
    expect(await leases.expire('a', 200)).toBe(true)
    expect(await leases.expire('a', 200)).toBe(false)
    expect(await leases.renew('me', 300)).toEqual(['b'])
    await leases.release('b')
    await leases.release('b')
    expect(await leases.list('container')).toEqual([])
  })
})

test('two stores never have the same scope, and a store keeps its own', async () => {
  await using other = await openStore(join(dir, 'other.db'))
  expect(other.leases.scope).not.toBe(store.leases.scope)
  const { scope } = store.leases
  await store.close()
  store = await openStore(join(dir, 'store.db'))
  expect(store.leases.scope).toBe(scope)
})

test('what belongs to others, or to a process that cannot be asked, is left alone', async () => {
  const mine = { scope: 'mine', ids: new Set(['live']) }
  expect(isUnowned({ scope: 'mine', id: 'live' }, mine)).toBe(false)
  expect(isUnowned({ scope: 'mine', id: 'dead' }, mine)).toBe(true)
  expect(isUnowned({ scope: 'other', id: 'dead' }, mine)).toBe(false)
  expect(isUnowned({ scope: processScope(), id: 'dead' }, mine)).toBe(false)
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'])
  await once(child, 'spawn')
  const own = processScope()
  const childScope = own.replace(/^p\d+/, `p${child.pid}`)
  // The start of another process: its number was given again.
  expect(processOfScopeAlive(childScope)).toBe(process.platform !== 'linux')
  expect(processOfScopeAlive(own)).toBe(true)
  expect(processOfScopeAlive(own.replace(/b[0-9a-z]+$/, 'b0'))).toBeUndefined()
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(processOfScopeAlive(childScope)).toBe(false)
  expect(isUnowned({ scope: childScope, id: 'any' }, mine)).toBe(true)
})

test('a holder renews what it holds, hears of what it lost, and stops when it holds nothing', async () => {
  vi.useFakeTimers()
  const leases = createProcessLeases()
  const holder = holdLeases(leases, () => undefined)
  const lost: string[] = []
  const kept = await holder.hold('container', () => lost.push('kept'))
  const ended = await holder.hold('container', () => lost.push('ended'))
  await leases.release(ended)
  await vi.advanceTimersByTimeAsync(10 * leaseTtlMs)
  expect(lost).toEqual(['ended'])
  const [lease] = await leases.list('container')
  expect(lease?.id).toBe(kept)
  expect(lease?.expires).toBeGreaterThan(Date.now() + leaseTtlMs - 2 * renewalPeriodMs)
  await holder.drop(kept)
  expect(vi.getTimerCount()).toBe(0)
  expect(await leases.list('container')).toEqual([])
})

test('a renewal that fails is reported and tried again', async () => {
  vi.useFakeTimers()
  const faults: unknown[] = []
  const leases = createProcessLeases()
  const renew = vi.spyOn(leases, 'renew').mockRejectedValueOnce(new Error('busy'))
  const holder = holdLeases(leases, (fault) => faults.push(fault))
  await holder.hold('folder', () => faults.push('lost'))
  await vi.advanceTimersByTimeAsync(2 * renewalPeriodMs)
  expect(faults).toEqual([new Error('busy')])
  expect(renew).toHaveBeenCalledTimes(2)
  holder.close()
})

test('a folder that no live lease owns is removed by the next pass', async () => {
  const parent = join(dir, 'temporary')
  expect(await reapFolders(parent, store.leases)).toEqual([])
  const holder = holdLeases(store.leases, () => undefined)
  const { scope } = store.leases
  const kept = await leaseFolder(parent, scope, holder)
  const released = await leaseFolder(parent, scope, holder)
  await released.release()
  await released.release()
  expect(existsSync(released.path)).toBe(false)
  expect(await reapFolders(parent, store.leases)).toEqual([])
  expect(await reapFolders(parent, store.leases, Date.now() + leaseTtlMs + 1)).toEqual([kept.path])
  expect(existsSync(kept.path)).toBe(false)
  expect(await store.leases.list('folder')).toEqual([])
  holder.close()
})
