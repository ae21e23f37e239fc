import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProcessLeases, leaseTtlMs } from '../../machine/processes/lease.ts'
import { openStore } from '../../storage/store.ts'
import { busyboxTar, engineMissing, startEngine, type TestEngine } from '../../test/host/container-engine.ts'
import { killedRun } from '../../test/host/container-leaks.ts'
import { connectEngine, type Engine, statusOf } from './engine.ts'
import { reapContainers } from './life/reaper.ts'
import { openSandbox } from './open.ts'

const missing = engineMissing()
if (missing !== undefined) console.warn(`that containers never leak is not tested: ${missing}`)

const image = 'perdure-test:sh'
const spec = { image, user: '1000:1000', memoryBytes: 2 ** 25 }

describe.skipIf(missing !== undefined)('the reaper', () => {
  let dir: string
  let engine: TestEngine
  let connection: Engine

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'perdure-leaks-'))
    engine = await startEngine()
    connection = await connectEngine(engine.address)
    const sandbox = await openSandbox({ engine: engine.address })
    await sandbox.importImage(image, busyboxTar())
    await sandbox.close()
  }, 300_000)
  afterAll(async () => {
    await engine?.close()
    rmSync(dir, { recursive: true, force: true })
  }, 120_000)

  /** The number of containers that the engine lists and has: see [REAPER-3]. */
  async function containers(): Promise<number> {
    const { docker } = connection
    const listed = await docker.listContainers({ all: true })
    const found = await Promise.all(
      listed.map(({ Id }) =>
        docker
          .getContainer(Id)
          .inspect()
          .then(
            () => 1,
            (error: unknown) => {
              if (statusOf(error) === 404) return 0
              throw error
            },
          ),
      ),
    )
    return found.reduce((sum, each) => sum + each, 0)
  }

  // [SANDBOX-3] [REAPER-2]
  test('after kill -9 at random points no container is left, though no one starts that home again', async () => {
    const { before, seconds, stayed, after } = await killedRun(
      { address: engine.address, image },
      join(dir, 'home'),
      { processes: 3, sessions: 4, seed: 1 },
    )
    expect(before.leases).toBeGreaterThan(0)
    expect(stayed).toBe(0)
    expect(seconds).toBeLessThan(60)
    // The next process of that home finds the rest.
    expect(after).toEqual({ containers: 0, leases: 0, folders: 0 })
  }, 300_000)

  // [SANDBOX-3] [LIMITS-4]
  test('containers that are busy end by themselves when all that could remove them is dead', async () => {
    const { before, stayed } = await killedRun({ address: engine.address, image }, join(dir, 'alone'), {
      sessions: 3,
      seed: 4,
      withDescendants: true,
    })
    expect(before.containers).toBeGreaterThan(0)
    expect(stayed).toBe(0)
  }, 300_000)

  // [REAPER-1]
  test('a container with a live lease is never removed, nor one whose owner cannot be asked', async () => {
    await using mine = await openStore(join(dir, 'mine.db'))
    await using theirs = await openStore(join(dir, 'theirs.db'))
    const sandbox = await openSandbox({ engine: engine.address, leases: mine.leases })
    const container = await sandbox.acquire(spec)
    expect(await sandbox.reap()).toEqual([])
    expect(await reapContainers(connection, theirs.leases, Date.now() + leaseTtlMs)).toEqual([])
    expect(await reapContainers(connection, createProcessLeases(), Date.now() + leaseTtlMs)).toEqual([])
    expect(await container.exec('echo here')).toMatchObject({ stdout: 'here\n' })
    expect(await reapContainers(connection, mine.leases, Date.now() + leaseTtlMs)).toEqual([container.id])
    await expect(container.exec('echo here')).rejects.toMatchObject({ kind: 'session_lost' })
    await sandbox.close()
    expect(await containers()).toBe(0)
    expect(await mine.leases.list('container')).toEqual([])
  }, 120_000)

  // [OPEN-1]
  test('a sandbox leaves the containers of another one of this process', async () => {
    const one = await openSandbox({ engine: engine.address })
    const container = await one.acquire(spec)
    const other = await openSandbox({ engine: engine.address })
    expect(await other.reap()).toEqual([])
    expect(await container.exec('echo here')).toMatchObject({ stdout: 'here\n' })
    await other.close()
    await one.close()
    expect(await containers()).toBe(0)
  }, 120_000)

  test('close leaves no container of this sandbox, also of those it was starting', async () => {
    const leases = createProcessLeases()
    const sandbox = await openSandbox({ engine: engine.address, leases })
    sandbox.keepWarm(spec, 3)
    await sandbox.acquire(spec)
    await sandbox.close()
    expect(await containers()).toBe(0)
    expect(await leases.list('container')).toEqual([])
    await expect(sandbox.acquire(spec)).rejects.toMatchObject({ kind: 'backend' })
  }, 120_000)

  test('an engine that dies is an infrastructure failure, and one that comes back serves again', async () => {
    const leases = createProcessLeases()
    const sandbox = await openSandbox({ engine: engine.address, leases })
    const container = await sandbox.acquire(spec)
    const lost = expect(container.exec('sleep 100', { deadlineMs: 60_000 })).rejects.toMatchObject({
      name: 'ContainerFault',
      permanent: false,
    })
    await engine.kill()
    await lost
    // A container that cannot be removed now is left to the reaper, so the end of the session is not delayed.
    await container.release()
    expect(await leases.list('container')).toEqual([])
    await expect(sandbox.acquire(spec)).rejects.toMatchObject({ kind: 'backend' })
    await expect(openSandbox({ engine: engine.address })).rejects.toThrow(/DOCKER_HOST/)
    await engine.restart()
    const next = await sandbox.acquire(spec)
    expect(await next.exec('echo here')).toMatchObject({ stdout: 'here\n' })
    // The first container goes by itself.
    await expect.poll(containers, { timeout: 30_000 }).toBe(1)
    await sandbox.close()
    expect(await leases.list('container')).toEqual([])
    expect(await containers()).toBe(0)
  }, 300_000)
})

test('a missing engine is said at once, with its address and what to do', async () => {
  await expect(openSandbox({ engine: '/nowhere/docker.sock' })).rejects.toMatchObject({
    kind: 'backend',
    message: expect.stringMatching(/\/nowhere\/docker\.sock.*DOCKER_HOST/),
  })
  await expect(openSandbox({ engine: 'ftp://x' })).rejects.toMatchObject({ kind: 'bad_settings' })
})
