import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { shellWord } from '../../../machine/processes/typed-command.ts'
import { engineMissing } from '../../../test/host/container-engine.ts'
import { fieldOf } from '../../../test/host/container-witness.ts'
import { makeHostSecret } from '../../../test/host/host-escape.ts'
import { sharedData } from '../../../test/support/shared-data.ts'
import type { Library } from '../../contract/library.ts'
import { openDataset } from '../dataset.ts'
import type { Need, OsItem } from '../item.ts'
import { containerAssignment } from './machine.ts'
import {
  bash,
  done,
  graded,
  openTestMachines,
  question,
  scripted,
  type TestMachines,
  work,
} from './machines.testing.ts'

const dir = sharedData('os')
const missing = engineMissing()
if (missing !== undefined) console.warn(`official items of os are not tested: ${missing}`)

/** Items of the training file that are tried where PERDURE_OS_SAMPLE is set; the figure is in docs/containers.md. */
const sampleSize = 200

describe.skipIf(missing !== undefined)('official items in containers', () => {
  let machines: TestMachines
  // AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID: bits 29, 0, 1, 3, 4, 5, 6, 7.
  const named = '00000000200000fb'
  const none = '0000000000000000'
  const lentByEngine = new Set(['/', '/sbin/docker-init', '/etc/hostname', '/etc/hosts', '/etc/resolv.conf'])
  beforeAll(async () => {
    machines = await openTestMachines()
  }, 600_000)
  afterAll(() => machines?.close(), 120_000)

  const yes = "printf '#!/bin/sh\\nexit 0\\n'"
  const tampering: Readonly<Record<string, string>> = {
    'programs replaced': `for p in ls stat python3 wc bash sh test '['; do f=$(command -v $p); case $f in /*) rm -f "$f"; ${yes} > "$f"; chmod 755 "$f";; esac; done`,
    'programs before them on the PATH': `for p in ls stat python3 wc; do ${yes} > /usr/local/bin/$p; ${yes} > /usr/local/sbin/$p; chmod 755 /usr/local/*bin/$p; done; echo 'PATH=/usr/local/bin' >> /etc/environment`,
    preloads: `echo /root/evil.so > /etc/ld.so.preload; export LD_PRELOAD=/root/evil.so; echo 'export LD_PRELOAD=/root/evil.so' >> /etc/profile`,
    'start-up files': `echo 'exit 0' | tee -a /etc/profile /etc/bash.bashrc /root/.bashrc /root/.profile /root/.bash_profile; export BASH_ENV=/root/.bashrc ENV=/root/.bashrc; mkdir -p /usr/local/lib/python3.11/dist-packages; echo 'import os; os._exit(0)' | tee /usr/lib/python3/dist-packages/sitecustomize.py /usr/local/lib/python3.11/dist-packages/sitecustomize.py /root/sys.py /root/os.py`,
    'name services': `echo 'passwd: evil' > /etc/nsswitch.conf`,
    functions: `stat() { echo 600; }; export -f stat; ls() { :; }; export -f ls`,
    'processes that stay': `(while :; do for p in /proc/[0-9]*; do kill -9 "\${p#/proc/}" 2>/dev/null; done; done) & disown; sleep 0.1`,
    'links to the grader': `rm -rf /srv/d; ln -s /proc/1/root /srv/d; ln -s /etc/shadow /root/x`,
    'folders that are links to programs': `mv /srv /srv2; ln -s /usr/bin /srv`,
  }

  test.each(Object.entries(tampering))(
    '%s change no reward',
    async (_, script) => {
      expect(await graded(machines.room, work, [script], '')).toBe(false)
      expect(await graded(machines.room, question, [script], '7')).toBe(false)
    },
    300_000,
  )

  test('honest work is paid beside broken tools, and a question is about what was there', async () => {
    const { 'programs replaced': replaced = '' } = tampering
    expect(await graded(machines.room, work, [done, replaced], '')).toBe(true)
    expect(await graded(machines.room, question, ['rm -rf /root/d'], '0')).toBe(false)
    expect(await graded(machines.room, question, ['rm -rf /root/d'], '3')).toBe(true)
  }, 300_000)

  test("what a check runs of the agent's opens no file of the host", async () => {
    const secret = makeHostSecret()
    const calc = scripted({ evaluation: { kind: 'check', chain: [bash('[ "$(calc "1 + 1")" = 2 ]')] } })
    const machine = await containerAssignment(calc, async () => machines.room).open()
    try {
      const place = (name: string, text: string) =>
        `printf %s '${Buffer.from(text).toString('base64')}' | base64 -d > ${name}; chmod 755 ${name}`
      // The check runs `calc`, which tells of its attempt in the agent's own files.
      await machine.run(place('/usr/local/bin/escape', `#!/usr/bin/perl\n${secret.program}`))
      const { output } = await machine.run('escape')
      await machine.run(
        place('/usr/local/bin/calc', '#!/bin/sh\nescape > /proc/1/root/root/attempt 2>&1; echo 2\n'),
      )
      expect(await machine.grade({ kind: 'finish', thought: '' })).toBe(true)
      const attempt = await machine.run('cat /root/attempt')
      expect([output, attempt.output]).toEqual(Array(2).fill('refused: Operation not permitted\n'))
      expect(secret.read()).toBe(secret.content)
    } finally {
      await machine.close()
      secret.close()
    }
  }, 300_000)

  const spoilt: Readonly<Record<string, string>> = {
    'a machine without /etc': 'mv /etc /elsewhere',
    'a command that never stops talking': 'exec yes',
    'a command that kills the check': 'kill -9 $PPID -1',
    'a command that stops the check': 'kill -STOP $PPID -1',
  }
  test.each(Object.entries(spoilt))(
    'what keeps a check from its end is not fulfilled, and no fault: %s',
    async (_, script) => {
      const item = scripted({ evaluation: { kind: 'check', chain: [bash('calc && [ -e /etc/passwd ]')] } })
      const command = script.startsWith('mv') ? script : ':'
      const calc = `printf '#!/bin/bash\n${script}\n' > /usr/local/bin/calc; chmod 755 /usr/local/bin/calc`
      expect(await graded(machines.room, item, [calc, command], '', 10_000)).toBe(false)
    },
    300_000,
  )

  test('programs take the rights of their owner only where an item needs it, and those hold nothing new', async () => {
    const rights = async (needs: readonly Need[]) => {
      const machine = await containerAssignment(scripted({ needs }), async () => machines.room).open()
      const own = 'cp /bin/bash /tmp/own; chmod u+s /tmp/own; runuser -u nobody -- /tmp/own -p -c'
      const { output } = await machine.run(
        `grep CapBnd /proc/self/status; ${own} 'id -u; grep -E "CapEff|Seccomp:" /proc/self/status'`,
      )
      await machine.close()
      return output.trim().split(/\s+/)
    }
    expect(await rights([])).toEqual(['CapBnd:', named, '65534', 'CapEff:', none, 'Seccomp:', '2'])
    expect(await rights(['setuid'])).toEqual(['CapBnd:', named, '0', 'CapEff:', named, 'Seccomp:', '2'])
  }, 120_000)

  test('a machine whose sudo was broken is paid for when it works again, and not before', async ({
    skip,
  }) => {
    const item = scripted({
      init: [bash("apt update && apt install sudo -y && echo '' > /etc/sudoers")],
      evaluation: { kind: 'check', chain: [bash('[ "$(sudo whoami)" = root ]')] },
      needs: ['setuid'],
    })
    const machine = await containerAssignment(item, async () => machines.room).open()
    const { exitCode } = await machine.run('command -v sudo apt')
    await machine.close()
    skip(exitCode !== 0, 'the image is made of the packages of this machine, which has no sudo or no apt')
    expect(await graded(machines.room, item, [], '')).toBe(false)
    expect(await graded(machines.room, item, ["echo 'root ALL=(ALL:ALL) ALL' > /etc/sudoers"], '')).toBe(true)
  }, 120_000)

  const hostile: Readonly<Record<string, string>> = {
    'a fork bomb': ':(){ :|:& };:; sleep 1',
    'endless output': 'yes',
    'a disk fill': 'cat /dev/zero > /root/big; cat /dev/zero > /root/big2',
    'a disk fill by files of another user without a name': `chmod 777 /srv; runuser -u nobody -- bash -c 'for i in $(seq 20); do (exec 5>/srv/$i; rm /srv/$i; head -c 100M /dev/zero >&5; sleep 1000) & done; wait'`,
    'a memory fill': 'x=a; while :; do x=$x$x; done',
    'the network': 'exec 3<>/dev/tcp/192.0.2.1/80',
    'the end of everything': 'kill -9 -1; kill -9 1',
    'the deletion of everything': 'rm -rf --no-preserve-root /* 2>/dev/null; echo gone',
  }
  test.each(Object.entries(hostile))(
    '%s is answered, and earns nothing',
    async (_, script) => {
      const machine = await containerAssignment(work, async () => ({
        ...machines.room,
        scriptMs: 5_000,
      })).open()
      const { output, exitCode } = await machine.run(script)
      expect(output.length).toBeLessThan(200_000)
      expect(exitCode).toBeGreaterThanOrEqual(0)
      await machine.run('echo still here')
      expect(await machine.grade({ kind: 'finish', thought: '' })).toBe(false)
      await machine.close()
    },
    300_000,
  )

  test('folder, variables and functions carry over, and both streams are one', async () => {
    const machine = await containerAssignment(question, async () => machines.room).open()
    await machine.run('cd /srv; A=1; export B="two words"; f() { echo "f$1"; }')
    expect(await machine.run('echo "$PWD $A $B"; f 3; echo wrong >&2; false')).toEqual({
      output: '/srv 1 two words\nf3\nwrong\n',
      exitCode: 1,
    })
    await machine.close()
  }, 120_000)

  test('no container that was started has more than the named capabilities, or anything of the host', async () => {
    const containers = await machines.witness.seen()
    expect(containers.filter(({ settings }) => settings.PidMode !== '').length).toBeGreaterThan(1)
    for (const { settings, status, mounts } of containers) {
      for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(fieldOf(status, set)).toBe(named)
      for (const set of ['CapInh', 'CapAmb']) expect(fieldOf(status, set)).toBe(none)
      expect(fieldOf(status, 'Seccomp')).toBe('2')
      expect(settings).toMatchObject({
        Privileged: false,
        NetworkMode: 'none',
        LogConfig: { Type: 'none' },
      })
      expect([settings.Binds ?? [], settings.Mounts ?? [], settings.Devices ?? []]).toEqual([[], [], []])
      // Beside its own root and the kernel's file systems: the engine's init, and the files that it writes.
      const lent = mounts
        .filter((mount) => !/ - (?:proc|sysfs|tmpfs|devpts|mqueue|cgroup2?) /.test(mount))
        .map((mount) => mount.split(' ')[4])
      expect(
        lent.filter((target) => !lentByEngine.has((target ?? '').replace('/usr/sbin/', '/sbin/'))),
      ).toEqual([])
    }
  })

  test('no container outlives its session', async () => {
    expect(await machines.sandbox.reap()).toEqual([])
  })

  // Official items are not part of the project.
  describe.skipIf(!existsSync(dir))('by their example solutions', () => {
    let dataset: Library<OsItem>
    beforeAll(async () => {
      dataset = await openDataset(dir)
    })

    /** Ids that are not fulfilled by what the publishers hold for right. */
    async function failing(ids: readonly string[]): Promise<string[]> {
      const failed: string[] = []
      const open = [...ids]
      const worker = async () => {
        for (let id = open.shift(); id !== undefined; id = open.shift()) {
          const item = dataset.open(id)
          const machine = await containerAssignment(item, async () => machines.room).open()
          try {
            const { evaluation, example } = item
            const output = example === undefined ? '' : (await machine.run(example.code)).output.trim()
            const answer = evaluation.kind === 'match' ? evaluation.answer : output
            if (!(await machine.grade({ kind: 'answer', answer }))) failed.push(id)
          } finally {
            await machine.close()
          }
        }
      }
      await Promise.all([worker(), worker()])
      return failed.sort()
    }

    test('of the dev items all pass but the one that compares 8.0K as a whole number', async () => {
      const ids = Array.from({ length: 26 }, (_, index) => dataset.instanceAt('dev', index))
      expect(await failing(ids)).toEqual(['data/dev.json#8'])
    }, 900_000)

    // [CORRECTED-1] [CORRECTED-2]
    test.each([
      "echo '0)<1)#'",
      'echo 5',
      "printf '#!/bin/sh\\necho True\\n' > /usr/bin/python3; echo 1",
      'kill -9 $PPID',
    ])(
      'of the two dev items that ask for a command calc none is paid for: %s',
      async (script) => {
        const calc = `printf '%s\\n' '#!/bin/bash' ${shellWord(script)} > /usr/local/bin/calc; chmod 755 /usr/local/bin/calc`
        for (const id of ['data/dev.json#3', 'data/dev.json#5'])
          expect(await graded(machines.room, dataset.open(id), [calc, 'calc 1+1'], 'done')).toBe(false)
      },
      120_000,
    )

    test.skipIf(process.env.PERDURE_OS_SAMPLE === undefined)(
      'of 200 training items at least 199 pass',
      async () => {
        const draw = uniforms(200)
        const ids = Array.from({ length: 1_000 }, (_, index) => ({
          id: dataset.instanceAt('train', index),
          rank: draw(),
        }))
          .sort((left, right) => left.rank - right.rank)
          .slice(0, sampleSize)
          .map(({ id }) => id)
        const failed = await failing(ids)
        console.log(
          `${sampleSize - failed.length} of ${sampleSize} training items pass; not: ${failed.join(' ')}`,
        )
        expect(failed.length).toBeLessThanOrEqual(1)
      },
      7_200_000,
    )
  })
})
