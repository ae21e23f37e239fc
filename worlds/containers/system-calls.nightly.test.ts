/** Resources that system calls in a container can take from the engine's machine: disk blocks and per-user counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { busyboxTar, engineMissing, startEngine, type TestEngine } from '../../test/host/container-engine.ts'
import { type LoopDisk, mountLoopDisk } from '../../test/host/loop-disk.ts'
import { openSandbox } from './open.ts'
import type { Container, ContainerSpec, Sandbox } from './sandbox.ts'

const mebibyte = 2 ** 20
const image = 'perdure-test:perl'
/** For root: the most that a container's user may be. */
const spec: ContainerSpec = {
  image,
  user: '0:0',
  capabilities: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETUID', 'SETGID'],
  setuid: true,
  memoryBytes: 256 * mebibyte,
  processes: 64,
  diskBytes: 64 * mebibyte,
}

/** Numbers of the calls. */
const numbers = {
  x64: {
    ...{ ioctl: 16, socket: 41, clone: 56, fcntl: 72, personality: 135, add_key: 248, keyctl: 250 },
    ...{ inotify_init1: 294, unshare: 272, fallocate: 285, name_to_handle_at: 303, bpf: 321 },
  },
  arm64: {
    ...{ fcntl: 25, inotify_init1: 26, ioctl: 29, fallocate: 47, personality: 92, unshare: 97, socket: 198 },
    ...{ add_key: 217, keyctl: 219, clone: 220, name_to_handle_at: 264, bpf: 280 },
  },
}
/** Newer calls have the same numbers everywhere. */
const call = {
  ...numbers[process.arch === 'arm64' ? 'arm64' : 'x64'],
  io_uring_setup: 425,
  clone3: 435,
  file_setattr: 469,
}

const missing =
  engineMissing() ?? (process.arch in numbers ? undefined : `calls of ${process.arch} are not known here`)
const mounted = missing ?? mountLoopDisk('ext4', 2 ** 32)
if (typeof mounted === 'string') console.warn(`system calls of containers are not tested: ${mounted}`)

describe.skipIf(typeof mounted === 'string')('a system call of a container', () => {
  // Nothing in here runs where there is none.
  const disk = mounted as LoopDisk
  let engine: TestEngine
  let sandbox: Sandbox
  let container: Container

  beforeAll(async () => {
    engine = await startEngine(disk.folder)
    sandbox = await openSandbox({ engine: engine.address })
    await sandbox.importImage(image, busyboxTar({ bash: true, perl: true }))
    container = await sandbox.acquire(spec)
  }, 120_000)
  afterAll(async () => {
    await sandbox?.close()
    await engine?.close()
    disk.remove()
  }, 60_000)

  /** Results of Perl expressions, one for each: what they give, or the number of their error. */
  async function results(expressions: readonly string[]): Promise<readonly string[]> {
    const lines = expressions.map(
      (each) => `$! = 0; $r = ${each}; print((!defined $r || $r == -1) ? "error " . ($! + 0) : $r, "\n");`,
    )
    const opened = 'open($f, "+>", "/root/file") or die; pipe($in, $out) or die; $n = fileno($f);'
    const { stdout, stderr, exitCode } = await container.exec(`perl -e '${opened} ${lines.join(' ')}'`)
    expect([exitCode, stderr]).toEqual([0, ''])
    return stdout.trimEnd().split('\n')
  }

  const gibibyte = 2 ** 30
  const [notPermitted, notImplemented, notSupported, notTerminal] = [1, 38, 95, 25].map((n) => `error ${n}`)
  /** Reservation of three GiB, as a file system's own request reads it: type, whence, start, length, and what is unused. */
  const space = `my $s = pack("s2x4q2x24", 0, 0, 0, ${3 * gibibyte})`

  // [CALLS-2]
  test('takes no blocks of the disk without writing them', async () => {
    const before = disk.free()
    const modes = [0, 0x01, 0x03, 0x10, 0x11, 0x20, 0x40]
    expect(
      await results(modes.map((mode) => `syscall(${call.fallocate}, $n, ${mode}, 0, ${3 * gibibyte})`)),
    ).toEqual(modes.map(() => notSupported))
    const requests = {
      FS_IOC_RESVSP: 0x4030_5828,
      FS_IOC_RESVSP64: 0x4030_582a,
      FS_IOC_ZERO_RANGE: 0x4030_5839,
      FS_IOC_FSSETXATTR: 0x401c_5820,
      BTRFS_IOC_SUBVOL_CREATE: 0x5000_940e,
      // The kernel reads the lower half of the register.
      'FS_IOC_RESVSP64 with a bit above': 2 ** 40 + 0x4030_582a,
    }
    expect(
      await results(
        Object.values(requests).map((request) => `syscall(${call.ioctl}, $n, ${request}, ${space})`),
      ),
    ).toEqual(Object.values(requests).map(() => notPermitted))
    const [ring, attributes] = await results([
      `syscall(${call.io_uring_setup}, 8, my $p = "\\0" x 120)`,
      `syscall(${call.file_setattr}, -100, my $p = "/root/file", my $a = "\\0" x 24, 24, 0)`,
    ])
    expect(ring).toBe(notPermitted)
    expect([notPermitted, notImplemented]).toContain(attributes)
    expect(before - disk.free()).toBeLessThan(4 * mebibyte)
  })

  // [CALLS-3]
  test('takes nothing that the kernel counts per user and gives back to no one else', async () => {
    expect(
      await results([
        `syscall(${call.inotify_init1}, 0)`,
        `syscall(${call.fcntl}, fileno($in), 1031, 1048576)`,
        `syscall(${call.fcntl}, fileno($in), ${2 ** 40 + 1031}, 1048576)`,
        `syscall(${call.add_key}, my $t = "user", my $d = "d", my $p = "p", 1, -3)`,
        `syscall(${call.keyctl}, 0, -3, 1)`,
      ]),
    ).toEqual([notImplemented, notPermitted, notPermitted, notPermitted, notPermitted])
    const { stdout } = await container.exec('ulimit -i; ulimit -q; ulimit -Hi')
    expect(stdout).toBe('1024\n0\n1024\n')
  })

  // [CALLS-1]
  test('that is not listed is denied, and so are namespaces, raw sockets and personalities of the kernel', async () => {
    const newUser = 0x1000_0000
    expect(
      await results([
        `syscall(${call.unshare}, ${newUser})`,
        `syscall(${call.clone}, ${newUser + 17}, 0, 0, 0, 0)`,
        `syscall(${call.clone3}, my $p = "\\0" x 88, 88)`,
        `syscall(${call.bpf}, 0, my $p = "\\0" x 72, 72)`,
        `syscall(${call.name_to_handle_at}, -100, my $p = "/root", my $h = "\\0" x 136, my $m = "\\0" x 4, 0)`,
        `syscall(${call.socket}, 38, 5, 0)`,
        `syscall(${call.socket}, 17, 3, 0)`,
        `syscall(${call.personality}, 0x40000)`,
      ]),
    ).toEqual([notPermitted, notPermitted, notImplemented, ...Array(5).fill(notPermitted)])
  })

  test('that programs need works as before', async () => {
    const [terminal, size, lease, personality, socket] = await results([
      `syscall(${call.ioctl}, $n, 0x5401, my $p = "\\0" x 64)`,
      `syscall(${call.fcntl}, fileno($in), 1032, 0)`,
      `syscall(${call.fcntl}, $n, 1030, 0) > 2 ? 1 : 0`,
      `syscall(${call.personality}, 0xffffffff)`,
      `syscall(${call.socket}, 1, 1, 0) > 2 ? 1 : 0`,
    ])
    expect([terminal, lease, personality, socket]).toEqual([notTerminal, '1', '0', '1'])
    expect(Number(size)).toBeGreaterThan(0)
    const { stdout } = await container.exec(
      'cp /etc/passwd /root/copy && tail -n 1 /root/copy; echo $((1 + 1)) | cat',
    )
    expect(stdout).toBe('agent:x:1000:1000::/home:/bin/sh\n2\n')
  })
})
