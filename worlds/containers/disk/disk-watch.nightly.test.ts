import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  busyboxTar,
  engineMissing,
  startEngine,
  type TestEngine,
} from '../../../test/host/container-engine.ts'
import { ContainerFault } from '../fault.ts'
import { openSandbox } from '../open.ts'
import type { ContainerSpec, Sandbox } from '../sandbox.ts'
import type { DiskUse } from './disk-count.ts'
import { DiskGauge } from './disk-gauge.ts'
import { createDiskWatch, diskLimit, type Watched } from './disk-watch.ts'

const missing = engineMissing()
if (missing !== undefined) console.warn(`the limit of what a container writes is not tested: ${missing}`)

const mebibyte = 2 ** 20
const limit = 256 * mebibyte
/** The size of the engine's disk. */
const size = 4 * 2 ** 30
/** One for each 16 KiB. */
const names = limit / 16_384

describe.skipIf(missing !== undefined)('what a container writes', () => {
  const image = 'perdure-test:sh'
  const spec: ContainerSpec = {
    image,
    user: '0:0',
    diskBytes: limit,
    tmpfs: {},
    // A disk in memory takes 2 GB/s and more; a share of a core fills it about as fast as a good disk takes.
    cores: 0.4,
    memoryBytes: 3 * 2 ** 30,
  }
  let disk: string
  let engine: TestEngine
  let sandbox: Sandbox

  // A disk of the engine's own, so that its content is known, and other programs of this machine do not write to it.
  beforeAll(async () => {
    disk = mkdtempSync(join(tmpdir(), 'perdure-disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', disk])
    engine = await startEngine(disk)
    sandbox = await openSandbox({ engine: engine.address })
    await sandbox.importImage(image, busyboxTar())
  }, 120_000)
  afterAll(async () => {
    await sandbox?.close()
    await engine?.close()
    execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true, force: true })
  }, 60_000)

  const used = () => {
    const { blocks, bfree, bsize, files, ffree } = statfsSync(disk)
    return { bytes: (blocks - bfree) * bsize, names: files - ffree }
  }

  const piece = 'dd if=/dev/zero bs=1M count=32'
  const endless = (step: string) => `i=0; while :; do i=$((i+1)); ${step}; done`
  const folders = `${'d'.repeat(200)}/`.repeat(15)
  const fillings = {
    'files that have no name and are kept open': endless(
      `(exec 5>/root/$i; rm /root/$i; ${piece} >&5; sleep 1000) & [ $((i % 4)) = 0 ] && sleep 0.2`,
    ),
    'files under paths of more than 4,096 characters': `p=${folders}; mkdir -p /root/a/$p /root/b/$p; cd /root/b/$p; mv /root/b /root/a/$p; ${endless(`${piece} of=$i`)}`,
    'many files': endless(`${piece} of=/root/$i`),
    'hundreds of thousands of empty files': `mkdir /root/d; cd /root/d; ${endless(': > $i')}`,
    'the files that the engine lends':
      'for i in hosts hostname resolv.conf; do dd if=/dev/zero bs=1M of=/etc/$i; done; sleep 1000',
  } as const
  const cases: readonly (readonly [
    where: 'in a command' | 'between commands',
    what: keyof typeof fillings,
  ])[] = [
    ['in a command', 'files that have no name and are kept open'],
    ['in a command', 'files under paths of more than 4,096 characters'],
    ['in a command', 'many files'],
    ['in a command', 'hundreds of thousands of empty files'],
    ['in a command', 'the files that the engine lends'],
    ['between commands', 'files that have no name and are kept open'],
    ['between commands', 'hundreds of thousands of empty files'],
  ]

  // [DISK-WATCH-1] [DISK-WATCH-2]
  test.each(cases)(
    '%s, %s end it near its limit, and no neighbour',
    async (where, what) => {
      const container = await sandbox.acquire(spec)
      const neighbour = await sandbox.acquire(spec)
      await neighbour.exec('(while :; do echo x > /root/x; sleep 0.1; done) &')
      const before = used()
      let most = { bytes: 0, names: 0 }
      const watching = setInterval(() => {
        const { bytes, names } = used()
        most = {
          bytes: Math.max(most.bytes, bytes - before.bytes),
          names: Math.max(most.names, names - before.names),
        }
      }, 20)
      try {
        if (where === 'in a command')
          expect(await container.exec(fillings[what], { deadlineMs: 60_000 })).toMatchObject({
            ended: 'out_of_disk',
          })
        else await container.exec(`(${fillings[what]}) > /dev/null 2>&1 &`)
        await expect.poll(() => container.ended, { timeout: 60_000 }).toBe('out_of_disk')
        expect(await container.exec('echo here')).toMatchObject({ ended: 'out_of_disk', stdout: '' })
        await container.release()
        // A busy machine reads late; without a limit the disk would be full.
        expect(most.bytes).toBeLessThan(size / 2)
        expect(most.names).toBeLessThan(8 * names)
        expect(await neighbour.exec('echo here')).toMatchObject({ stdout: 'here\n', exitCode: 0 })
      } finally {
        clearInterval(watching)
        await neighbour.release()
        await container.release()
      }
    },
    300_000,
  )

  test('where the engine shows no folder, a container tells what is free on its disk', async () => {
    const gauge = new DiskGauge((wanted) => sandbox.acquire(wanted))
    const before = statfsSync(disk)
    const { bytes, names } = await gauge.read({ spec, layer: async () => undefined })
    // The container itself takes a folder or two.
    expect(Math.abs(bytes - before.bfree * before.bsize)).toBeLessThan(mebibyte)
    expect(Math.abs(names - before.ffree)).toBeLessThan(200)
    await gauge.close()
  }, 60_000)
})

// [DISK-WATCH-1]
test('what a container takes before the first period is over is seen after its first command', async () => {
  let bytes = 100 * limit
  const watch = createDiskWatch({ read: async () => ({ bytes, names }), close: async () => undefined })
  const counted: (DiskUse | undefined)[] = []
  const container: Watched = {
    spec: { image: 'image', user: '0:0', diskBytes: limit, tmpfs: {} },
    limit: diskLimit(limit),
    still: false,
    layer: async () => undefined,
    async count(isOver) {
      const use = { bytes: 3 * limit, names: 1 }
      counted.push(isOver(use) ? use : undefined)
    },
    cached: async () => 0,
    unwatched: async () => undefined,
  }
  await watch.begin(container)
  bytes -= 3 * limit
  await watch.settle(container)
  expect(counted).toEqual([{ bytes: 3 * limit, names: 1 }])
  // Space that disappears while no container is watched is attributed to none.
  bytes -= 50 * limit
  await watch.begin(container)
  await watch.settle(container)
  expect(counted).toHaveLength(1)
  await watch.close()
})

describe('a count that fails', () => {
  const gone = new ContainerFault('session_lost', 'pausing container c: it is not running')
  const stopped = new ContainerFault('backend', 'starting a container: cannot start a stopped process')

  /** Reports what the watch did with a container whose counts fail with these faults, one after the other. */
  async function watching(faults: readonly ContainerFault[]) {
    let room = size
    const watch = createDiskWatch({
      read: async () => {
        room -= 2 * limit
        return { bytes: room, names }
      },
      close: async () => undefined,
    })
    const seen = { counts: 0, unwatched: [] as unknown[] }
    const container: Watched = {
      spec: { image: 'image', user: '0:0', diskBytes: limit, tmpfs: {} },
      limit: diskLimit(limit),
      still: false,
      layer: async () => undefined,
      async count(isOver) {
        const fault = faults[seen.counts++]
        if (fault !== undefined) throw fault
        expect(isOver({ bytes: 0, names: 0 })).toBe(false)
      },
      cached: async () => 0,
      async unwatched(fault) {
        seen.unwatched.push(fault)
      },
    }
    // The first reading is what the second is compared with.
    await watch.begin(container)
    await watch.settle(container)
    await watch.close()
    return seen
  }

  test('is tried once more, and the container continues', async () => {
    expect(await watching([stopped])).toEqual({ counts: 2, unwatched: [] })
  })

  test('and fails again leaves the container unwatched, for the reason of the second attempt', async () => {
    expect(await watching([stopped, gone])).toEqual({ counts: 2, unwatched: [gone] })
  })
})
