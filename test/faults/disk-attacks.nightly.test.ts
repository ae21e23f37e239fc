/** Agents that take the disk of the engine's machine, beside a run whose home is on that disk. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { type DiskWatch, watchDisk } from '../../workers/upkeep/disk-watch.ts'
import { openSandbox } from '../../worlds/containers/open.ts'
import type { ContainerSpec, Sandbox } from '../../worlds/containers/sandbox.ts'
import { busyboxTar, engineMissing, startEngine, type TestEngine } from '../host/container-engine.ts'
import { type LoopDisk, mountLoopDisk } from '../host/loop-disk.ts'

const mebibyte = 2 ** 20
const size = 8 * 2 ** 30
const image = 'perdure-test:perl'
const spec: ContainerSpec = {
  image,
  user: '0:0',
  diskBytes: 128 * mebibyte,
  tmpfs: {},
  // A disk in a file takes what memory takes; a share of a core fills it about as fast as a good disk takes.
  cores: 0.4,
  memoryBytes: 512 * mebibyte,
}

/** Reserves as much as is left, file by file, in every way that the kernel knows. */
const reserving = `
  $SIG{XFSZ} = "IGNORE"; my @call = $ENV{MACHINE} eq "arm64" ? (47, 29) : (285, 16);
  for my $i (1 .. 100) {
    open(my $f, ">", "/root/r$i") or next;
    my $n = fileno($f);
    for my $size (2**32, 2**30, 2**26) {
      syscall($call[0], $n, $_, 0, $size) for (1, 0, 0x10, 0x11);
      for my $request (0x40305828, 0x4030582a, 0x40305839) {
        my $space = pack("s2x4q2x24", 0, 0, 0, $size);
        syscall($call[1], $n, $request, $space);
      }
    }
  }`

const attacks: Readonly<Record<string, string>> = {
  'blocks that are reserved and not written': `perl -e '${reserving}'; sleep 2`,
  'files that are written at once by the first command':
    'for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero bs=1M count=60 of=/root/$i & done; wait; sleep 5',
  'one byte in each block of sparse files': `perl -e 'for my $i (1 .. 99) { open(my $f, "+>", "/root/s$i") or last; for my $b (0 .. 15000) { sysseek($f, $b * 8192, 0); syswrite($f, "x", 1) or last } }'`,
  'files in the background, after the command': `(for i in $(seq 1000); do dd if=/dev/zero bs=1M count=60 of=/root/$i; done) > /dev/null 2>&1 &`,
}

const missing = engineMissing()
const mounted = missing ?? mountLoopDisk('ext4', size)
if (typeof mounted === 'string') console.warn(`attacks on the disk are not tested: ${mounted}`)

describe.skipIf(typeof mounted === 'string')('the disk of the engine and of a run beside it', () => {
  // Nothing in here runs where there is none.
  const disk = mounted as LoopDisk
  const pauses: string[] = []
  let engine: TestEngine
  let sandbox: Sandbox
  let watch: DiskWatch

  beforeAll(async () => {
    engine = await startEngine(disk.folder)
    sandbox = await openSandbox({ engine: engine.address })
    await sandbox.importImage(image, busyboxTar({ bash: true, perl: true }))
    const run = { run: runId('beside'), config: configSchema.parse({}) }
    watch = watchDisk({
      home: disk.folder,
      everyMs: 20,
      log: (line) => pauses.push(line),
      running: async () => [run],
      phase: async () => 'training',
      pause: async () => true,
      isPausedForDisk: async () => false,
      continue: async () => true,
    })
  }, 120_000)
  afterAll(async () => {
    await watch?.close()
    await sandbox?.close()
    await engine?.close()
    disk.remove()
  }, 60_000)

  // [DISK-WATCH-1] [DISK-WATCH-2] [CALLS-2] [CONTAINER-LIFE-1]
  test.each(Object.entries(attacks))(
    'keeps nine tenths of what is free, gets the rest back without a release, and pauses no run: %s',
    async (_, script) => {
      const container = await sandbox.acquire(spec)
      const before = disk.free()
      let least = before
      const measuring = setInterval(() => {
        least = Math.min(least, disk.free())
      }, 10)
      try {
        const environment = { MACHINE: process.arch }
        const { ended, exitCode } = await container.exec(script, { deadlineMs: 60_000, environment })
        expect(ended === undefined ? exitCode : 0).toBe(0)
        if (script !== attacks['blocks that are reserved and not written'])
          await expect.poll(() => container.ended, { timeout: 60_000 }).toBe('out_of_disk')
        await expect.poll(() => before - disk.free(), { timeout: 30_000 }).toBeLessThan(8 * mebibyte)
      } finally {
        clearInterval(measuring)
        await container.release()
      }
      expect(least).toBeGreaterThan(0.9 * before)
      expect(pauses).toEqual([])
    },
    120_000,
  )
})
