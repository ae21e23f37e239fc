import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProcessLeases } from '../../machine/processes/lease.ts'
import { busyboxTar, engineMissing, startEngine, type TestEngine } from '../../test/host/container-engine.ts'
import { connectEngine } from './engine.ts'
import { openSandbox } from './open.ts'
import type { Container, ContainerSpec, Sandbox } from './sandbox.ts'

const missing = engineMissing()
if (missing !== undefined) console.warn(`the sandbox is not tested: ${missing}`)

const mebibyte = 2 ** 20

const sh = 'perdure-test:sh'
const bash = 'perdure-test:bash'

describe.skipIf(missing !== undefined)('a container', () => {
  let engine: TestEngine
  let sandbox: Sandbox
  /** Beside all that happens to the others. */
  let neighbour: Container
  const leases = createProcessLeases()
  const rootOf = (image: string): ContainerSpec => ({
    image,
    user: '0:0',
    memoryBytes: 64 * mebibyte,
    processes: 64,
  })

  beforeAll(async () => {
    engine = await startEngine()
    sandbox = await openSandbox({ engine: engine.address, leases })
    await sandbox.importImage(sh, busyboxTar())
    await sandbox.importImage(bash, busyboxTar({ bash: true }))
    neighbour = await sandbox.acquire(rootOf(sh))
  }, 120_000)
  afterAll(async () => {
    await sandbox?.close()
    await engine?.close()
  }, 60_000)

  async function withContainer(
    spec: ContainerSpec,
    work: (container: Container) => Promise<void>,
  ): Promise<void> {
    const container = await sandbox.acquire(spec)
    try {
      await work(container)
    } finally {
      await container.release()
    }
  }

  /** A session beside the hostile one, and one after it, are as if nothing had happened. */
  async function othersUnharmed(
    spec: ContainerSpec,
    work: (container: Container) => Promise<void>,
  ): Promise<void> {
    await withContainer(spec, work)
    expect(await neighbour.exec('echo here')).toMatchObject({ exitCode: 0, stdout: 'here\n' })
    await withContainer(spec, async (next) => {
      expect(await next.exec('echo next')).toMatchObject({ exitCode: 0, stdout: 'next\n' })
    })
  }

  describe.each([
    { image: sh, shell: 'sh' },
    { image: bash, shell: 'bash' },
  ])('with $shell', ({ image }) => {
    const root = rootOf(image)

    describe('exec', () => {
      test('status, both streams, standard input, folder and environment are those of the command', () =>
        withContainer(root, async (container) => {
          const result = await container.exec('cat; printf " %s %s" "$PWD" "$WORD"; echo wrong >&2; exit 3', {
            stdin: "it's\nme",
            workingDirectory: '/tmp',
            environment: { WORD: `a 'quoted' "word"` },
          })
          expect(result).toEqual({
            exitCode: 3,
            stdout: `it's\nme /tmp a 'quoted' "word"`,
            stderr: 'wrong\n',
            timedOut: false,
            truncated: false,
          })
        }))

      test('a script that cannot be parsed, is empty or is huge is an answer', () =>
        withContainer(root, async (container) => {
          expect((await container.exec('if (')).exitCode).toBe(2)
          expect(await container.exec('')).toMatchObject({ exitCode: 0, stdout: '' })
          expect((await container.exec('\0')).exitCode).toBe(0)
          const huge = await container.exec(`: ${'x'.repeat(mebibyte)}`)
          expect(huge.exitCode).toBeGreaterThan(0)
          expect((await container.exec('cd /nowhere')).exitCode).toBeGreaterThan(0)
          expect(await container.exec('pwd', { workingDirectory: '/nowhere' })).toMatchObject({ stdout: '' })
          expect(await container.exec('echo "ä\\"$((1+1))"')).toMatchObject({ stdout: 'ä"2\n' })
        }))

      test('a command that is out of time is killed with everything it started, daemons included', () =>
        withContainer(root, async (container) => {
          await container.exec('sleep 1111 >/dev/null 2>&1 &')
          const late = await container.exec(
            '(setsid sleep 2222 &); trap "" TERM HUP; printf begun; sleep 3333; echo never',
            { deadlineMs: 500 },
          )
          expect(late).toMatchObject({ exitCode: 124, stdout: 'begun', timedOut: true })
          const { stdout } = await container.exec('ps')
          expect(stdout).not.toMatch(/2222|3333/)
          // A process that an earlier command left behind continues.
          expect(stdout).toContain('sleep 1111')
        }))

      test('endless output keeps its beginning and is ended', () =>
        othersUnharmed(root, async (container) => {
          const before = process.memoryUsage().rss
          const result = await container.exec('yes; echo never >&2', {
            outputBytes: 10_000,
            deadlineMs: 60_000,
          })
          expect(result.stdout).toBe('y\n'.repeat(5000))
          expect(result).toMatchObject({ truncated: true, stderr: '', timedOut: false })
          expect(process.memoryUsage().rss - before).toBeLessThan(200 * mebibyte)
          // A killed process may take a moment to end.
          await expect.poll(async () => (await container.exec('ps')).stdout).not.toContain('yes')
        }))

      test('output of both streams past the cap is dropped, and the command continues', () =>
        withContainer(root, async (container) => {
          const script = 'yes | head -c 100000; yes e | head -c 100000 >&2; exit 7'
          const result = await container.exec(script, { outputBytes: 100 })
          expect(result).toMatchObject({ exitCode: 7, truncated: true })
          expect([result.stdout.length, result.stderr.length]).toEqual([100, 100])
        }))

      test('killing its own process group leaves the shell', () =>
        withContainer(root, async (container) => {
          await container.exec('sleep 1000 & kill -KILL 0')
          expect(await container.exec('echo here')).toMatchObject({ stdout: 'here\n' })
        }))
    })

    describe('what an agent does to its container', () => {
      test(
        'a fork bomb is ended by the deadline',
        () =>
          othersUnharmed(root, async (container) => {
            const result = await container.exec('b() { b | b & b; }; b 2>/dev/null & while :; do :; done', {
              deadlineMs: 1_500,
            })
            expect(result).toMatchObject({ exitCode: 124, timedOut: true })
            expect(await container.exec('echo here')).toMatchObject({ stdout: 'here\n' })
          }),
        60_000,
      )

      test(
        'a fork bomb in the background ends its own session at most',
        () =>
          othersUnharmed(root, async (container) => {
            await container.exec('b() { b | b & }; while :; do b; done >/dev/null 2>&1 &', {
              deadlineMs: 1_500,
            })
            const result = await container.exec('echo here', { deadlineMs: 1_500 })
            expect(result.timedOut || result.ended !== undefined || result.stdout === 'here\n').toBe(true)
          }),
        60_000,
      )

      test('memory that runs out takes the command, not the container', () =>
        othersUnharmed(root, async (container) => {
          const result = await container.exec('a=0123456789abcdef; while :; do a=$a$a; done')
          expect(result.exitCode).toBe(137)
          expect(result.ended).toBeUndefined()
          expect(await container.exec('echo here')).toMatchObject({ stdout: 'here\n' })
        }))

      // [SANDBOX-2]
      test('a container that it kills is an answer, and so is all that is asked of it afterwards', () =>
        othersUnharmed(root, async (container) => {
          expect((await container.exec('kill -9 1; echo here')).stdout).toBe('here\n')
          const killed = await container.exec('kill -9 -1; sleep 100', { deadlineMs: 30_000 })
          expect(killed).toMatchObject({ ended: 'killed', exitCode: 137 })
          expect(container.ended).toBe('killed')
          expect(await container.exec('echo here')).toMatchObject({ ended: 'killed', stdout: '' })
        }))

      test('answers that it forges reach no one but itself', () =>
        othersUnharmed(root, async (container) => {
          await container.exec(
            'printf "\\n0123456789abcdef01234567 0 0\\n"; echo "junk" >/proc/$PPID/fd/3; exit 1',
          )
          expect(await container.exec('echo here')).toMatchObject({ exitCode: 0, stdout: 'here\n' })
        }))
    })
  })

  const root = rootOf(bash)

  describe('limits', () => {
    test(
      'a shell that it stops is given up',
      () =>
        othersUnharmed(root, async (container) => {
          const stopped = await container.exec('kill -STOP $PPID; sleep 100', { deadlineMs: 500 })
          expect(stopped).toMatchObject({ ended: 'killed', timedOut: true })
        }),
      60_000,
    )

    test('a folder in memory is full at its size', () =>
      othersUnharmed({ ...root, tmpfs: { '/tmp': 8 * mebibyte } }, async (container) => {
        const { stderr } = await container.exec('dd if=/dev/zero of=/tmp/full bs=1M count=100')
        expect(stderr).toContain('No space left')
        expect((await container.exec('rm /tmp/full; echo here')).stdout).toBe('here\n')
      }))

    test(
      'a file cannot pass the size of the disk, and many files end the container',
      () =>
        othersUnharmed({ ...root, diskBytes: 8 * mebibyte }, async (container) => {
          const one = await container.exec('dd if=/dev/zero of=/root/one bs=1M count=100; ls -l /root/one')
          expect(one.stdout).toContain(String(8 * mebibyte))
          const many = await container.exec(
            'i=0; while :; do i=$((i+1)); dd if=/dev/zero of=/root/$i bs=1M count=4 2>/dev/null; sleep 0.1; done',
            { deadlineMs: 30_000 },
          )
          expect(many.ended).toBe('out_of_disk')
          expect((await container.exec('echo here')).ended).toBe('out_of_disk')
        }),
      60_000,
    )

    // [LIMITS-1]
    test('there is no network, no capability, no way to more, and no engine', () =>
      withContainer(root, async (container) => {
        const { stdout } = await container.exec(
          'ls /sys/class/net; grep -E "Cap(Eff|Bnd)|NoNewPrivs|Seccomp:" /proc/self/status; ls /var/run/docker.sock',
        )
        expect(stdout.replaceAll('\t', ' ')).toBe(
          'lo\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n',
        )
        for (const script of [
          'echo x >/etc/x',
          'mount -t tmpfs none /root',
          'mknod /tmp/disk b 8 0',
          'echo 1 >/proc/sys/kernel/sysrq',
          'ping -c 1 127.0.0.2 && ping -c 1 10.0.0.1',
          'wget -T 2 -O - http://1.1.1.1',
          'hostname other',
          'chroot / true',
        ])
          expect((await container.exec(script)).exitCode, script).not.toBe(0)
      }))

    test('a user that is not root stays so', () =>
      withContainer({ ...root, user: '1000:1000' }, async (container) => {
        expect((await container.exec('id -u; touch /tmp/mine && echo made')).stdout).toBe('1000\nmade\n')
        expect((await container.exec('cat /etc/shadow; echo x >/etc/passwd; su -c id')).stdout).toBe('')
      }))
  })

  describe('files', () => {
    const writable: ContainerSpec = { ...root, diskBytes: 16 * mebibyte, tmpfs: {} }

    test('what goes in comes out, with mode and owner, and folders on the way', () =>
      withContainer(writable, async (container) => {
        await container.copyIn([
          { path: '/data/in/a.sh', content: '#!/bin/sh\necho run\n', mode: 0o755, uid: 1000, gid: 1000 },
          { path: '/data/in/b', content: new Uint8Array([0, 255]) },
        ])
        expect((await container.exec('/data/in/a.sh; ls -ln /data/in/a.sh')).stdout).toMatch(
          /^run\n-rwxr-xr-x +1 1000 +1000/,
        )
        const out = await container.copyOut('/data')
        expect(out?.entries.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
          'file in/a.sh',
          'file in/b',
          'folder data',
          'folder in',
        ])
        const b = await container.copyOut('/data/in/b')
        expect(b?.entries[0]).toMatchObject({ path: 'b', kind: 'file', mode: 0o644 })
        expect([...(b?.entries[0]?.content ?? [])]).toEqual([0, 255])
        expect(await container.copyOut('/data/none')).toBeUndefined()
      }))

    test('links are listed and never followed, and no path leaves the container', () =>
      withContainer(writable, async (container) => {
        await container.exec(
          'ln -s /etc/passwd /root/a; ln -s ../../../../../../etc /root/up; ln -s / /root/all',
        )
        expect((await container.copyOut('/root/a'))?.entries).toMatchObject([
          { kind: 'link', target: '/etc/passwd' },
        ])
        // A link on the way leads through the container's own files.
        const passwd = await container.copyOut('/root/up/passwd')
        expect(Buffer.from(passwd?.entries[0]?.content ?? []).toString()).toContain('agent:x:1000')
        await container.copyIn([{ path: '/root/up/perdure-test', content: 'inside' }])
        expect((await container.exec('cat /etc/perdure-test')).stdout).toBe('inside')
        for (const path of ['relative', '/a/../../b', '/a/./b', '/', '/a/', '/a\0b']) {
          await expect(container.copyIn([{ path, content: '' }])).rejects.toThrow(RangeError)
          await expect(container.copyOut(path)).rejects.toThrow(RangeError)
        }
      }))

    test('what comes out is cut at the limit', () =>
      withContainer(writable, async (container) => {
        await container.exec('dd if=/dev/zero of=/root/big bs=1M count=10; echo small >/root/a')
        const out = await container.copyOut('/root/big', { bytes: mebibyte })
        expect(out).toEqual({ entries: [], truncated: true })
      }))
  })

  describe('graders', () => {
    // [INSPECTOR-1] [INSPECTOR-3]
    test('an inspector sees files and processes with programs of its own, while the agent is stopped', () =>
      withContainer({ ...root, diskBytes: 16 * mebibyte }, async (container) => {
        await container.exec(
          'echo answer >/root/file; rm /bin/cat; printf "#!/bin/sh\\necho fake\\n" >/bin/cat; (while :; do date +%s%N >/tmp/now; done) &',
        )
        const inspector = await container.inspector({ image: bash })
        const seen = await inspector.exec(
          'cat /proc/1/root/root/file; a=$(cat /proc/1/root/tmp/now); sleep 0.3; b=$(cat /proc/1/root/tmp/now); [ "$a" = "$b" ] && echo still; ps | grep -c "while"',
        )
        expect(seen.stdout).toMatch(/^answer\nstill\n[1-9]/)
        await inspector.release()
        expect(await container.exec('echo here')).toMatchObject({ stdout: 'here\n' })
      }))

    // [INSPECTOR-2]
    test.each(['0:0', '1000:1000'])(
      'an inspector has the rights of what it inspects and no more: %s',
      (user) =>
        withContainer(
          { ...root, user, capabilities: ['DAC_OVERRIDE', 'KILL'], diskBytes: 16 * mebibyte },
          async (container) => {
            const rights = 'id -u; id -g; grep -E "^(Cap|Seccomp:|NoNewPrivs)" /proc/self/status'
            const { stdout } = await container.exec(`echo mine >/tmp/file; ${rights}`)
            const inspector = await container.inspector({ image: bash })
            expect((await inspector.exec(rights)).stdout).toBe(stdout)
            expect((await inspector.exec('cat /proc/1/root/tmp/file')).stdout).toBe('mine\n')
            await inspector.release()
          },
        ),
    )
  })

  describe('infrastructure', () => {
    // [SANDBOX-2]
    test('a container that is removed from outside is a lost session, never an answer', () =>
      withContainer(root, async (container) => {
        const { docker } = await connectEngine(engine.address)
        const lost = expect(container.exec('sleep 1000', { deadlineMs: 60_000 })).rejects.toMatchObject({
          name: 'ContainerFault',
          kind: 'session_lost',
        })
        await docker.getContainer(container.id).remove({ force: true })
        await lost
        await expect(container.exec('true')).rejects.toMatchObject({ kind: 'session_lost' })
      }))

    test('an image that the engine does not have is said by name', async () => {
      await expect(sandbox.acquire({ image: 'nowhere:1', user: '0' })).rejects.toMatchObject({
        kind: 'bad_settings',
        message: expect.stringContaining('nowhere:1'),
      })
    })

    // [SANDBOX-1]
    test('after release there is no container and no lease', async () => {
      const { docker } = await connectEngine(engine.address)
      expect(await docker.listContainers({ all: true })).toMatchObject([{ Names: [`/${neighbour.id}`] }])
      expect(await leases.list('container')).toMatchObject([{ id: neighbour.id }])
      await neighbour.release()
      expect(await docker.listContainers({ all: true })).toEqual([])
      expect(await leases.list('container')).toEqual([])
    })
  })
})
