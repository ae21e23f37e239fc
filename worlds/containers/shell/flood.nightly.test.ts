import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  busyboxTar,
  engineMissing,
  startEngine,
  type TestEngine,
} from '../../../test/host/container-engine.ts'
import { connectEngine } from '../engine.ts'
import { openSandbox } from '../open.ts'
import type { Container, ContainerSpec, Sandbox } from '../sandbox.ts'

const missing = engineMissing()
if (missing !== undefined) console.warn(`that no container floods its engine is not tested: ${missing}`)

const mebibyte = 2 ** 20
const image = 'perdure-test:sh'

describe.skipIf(missing !== undefined)('a container that floods', () => {
  let engine: TestEngine
  let sandbox: Sandbox
  const spec: ContainerSpec = {
    image,
    user: '0:0',
    memoryBytes: 128 * mebibyte,
    processes: 64,
    diskBytes: 64 * mebibyte,
  }

  beforeAll(async () => {
    engine = await startEngine()
    sandbox = await openSandbox({ engine: engine.address })
    await sandbox.importImage(image, busyboxTar())
  }, 120_000)
  afterAll(async () => {
    await sandbox?.close()
    await engine?.close()
  }, 60_000)

  /** Memory of the engine's daemon, in bytes. */
  function engineBytes(): number {
    const folder = join(engine.address.slice('unix://'.length), '..')
    const pid = readFileSync(join(folder, 'pid'), 'utf8').trim()
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', pid], { encoding: 'utf8' })) * 1024
  }

  /**
   * Beside the hostile container a neighbour's commands are answered, this process and the engine's stay as small as
   * they were, and in the end what passed its limits is gone from the engine.
   */
  async function bearable(hostile: (container: Container) => Promise<void>): Promise<void> {
    const { docker } = await connectEngine(engine.address)
    const neighbour = await sandbox.acquire(spec)
    const container = await sandbox.acquire(spec)
    const before = { engine: engineBytes(), own: process.memoryUsage().rss }
    let most = 0
    let over = false
    const watch = (async () => {
      while (!over) {
        const result = await neighbour.exec('echo here', { deadlineMs: 10_000 })
        expect(result).toMatchObject({ stdout: 'here\n', timedOut: false })
        most = Math.max(most, engineBytes())
      }
    })()
    try {
      await hostile(container)
      await expect
        .poll(async () => (await docker.listContainers({ all: true })).length, { timeout: 60_000 })
        .toBe(container.alive ? 2 : 1)
    } finally {
      over = true
      await watch
      await Promise.all([container.release(), neighbour.release()])
    }
    expect(most - before.engine).toBeLessThan(64 * mebibyte)
    expect(process.memoryUsage().rss - before.own).toBeLessThan(256 * mebibyte)
  }

  test(
    'between its commands is ended',
    () =>
      bearable(async (container) => {
        await container.exec('(yes &); (yes >&2 &)')
        await expect.poll(() => container.ended, { timeout: 30_000 }).toBe('killed')
        expect(await container.exec('echo here')).toMatchObject({ ended: 'killed', stdout: '' })
      }),
    100_000,
  )

  test(
    'in a command, past its interruption, is ended',
    () =>
      bearable(async (container) => {
        const result = await container.exec('yes & kill -STOP $PPID; wait', {
          outputBytes: 1_000,
          deadlineMs: 60_000,
        })
        expect(result).toMatchObject({ ended: 'killed', truncated: true })
        expect(result.stdout.length).toBe(1_000)
      }),
    100_000,
  )

  test(
    'in a command is interrupted, as often as it does so',
    () =>
      bearable(async (container) => {
        for (let round = 0; round < 5; round++) {
          const result = await container.exec('yes & yes >&2 & yes', {
            outputBytes: 1_000,
            deadlineMs: 60_000,
          })
          expect(result).toMatchObject({ truncated: true, timedOut: false })
          expect(result.ended).toBeUndefined()
        }
      }),
    100_000,
  )
})
