import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { ShellThreads } from './threads.ts'
import type { World } from './world.ts'

vi.setConfig({ testTimeout: 120_000 })

const world: World = {
  files: [{ path: '/home/user/words', content: `${'a'.repeat(40)}!\n` }],
  folders: [],
  processes: [{ pid: 1, user: 'root', cpu: 0, memory: 0, command: '/sbin/init' }],
}

let threads: ShellThreads | undefined
afterEach(async () => {
  await threads?.close()
  threads = undefined
})

function open(deadlineMs: number, count = 1): ShellThreads {
  threads = new ShellThreads({ threads: count, deadlineMs })
  return threads
}

/** Attacks of a hostile agent; each is to end by itself, with a message. */
const hostile: Readonly<Record<string, string>> = {
  'an endless loop': 'while true; do :; done',
  'endless output': 'while true; do echo yes; done',
  'an endless sleep': 'sleep infinity; sleep 100000',
  'a fork bomb': ':(){ :|:& };:',
  'endless recursion': 'f(){ f; }; f',
  'a shell that starts itself': 'echo "bash ./s" > s; bash ./s',
  'a file that reads itself': 'echo ". ./s" > s; . ./s',
  'memory filled by a variable': 'x=aaaaaaaaaa; while :; do x=$x$x; done',
  'memory filled by awk': `awk 'BEGIN { s = "a"; while (1) s = s s }'`,
  'an endless awk': `awk 'BEGIN { while (1) {} }'`,
  'an endless sed': `echo a | sed ':a;s/a/aa/;ba'`,
  'braces without end': 'echo {1..100000000}',
  'a huge number format': 'printf "%1000000000d" 1',
  'a disk fill': 'echo x > big; while cat big big > more; do cat more > big; done',
  'a regular expression that explodes': `grep -E '^(a+)+$' words; [[ $(cat words) =~ ^(a|aa)+$ ]]`,
  'the network': 'curl http://127.0.0.1/; cat < /dev/tcp/127.0.0.1/80',
  'real files': 'cat /etc/hostname /proc/1/environ ../../../../etc/shadow; ls /work /tmp/..',
  'another language': 'node -e 1; python3 -c 1; js-exec 1; sqlite3 x 1; perl -e 1',
  'killing the first process': 'kill -9 1; pkill -x init; kill -9 $$ $PPID',
  'deleting everything': 'rm -rf --no-preserve-root / /*; ls /',
  'traps that ignore': 'trap "" TERM INT EXIT; while :; do :; done',
}

describe('a virtual shell', () => {
  // One pool for all of them: it lives through everything.
  const lasting = new ShellThreads({ threads: 1, deadlineMs: 60_000 })
  afterAll(() => lasting.close())

  test.each(Object.entries(hostile))(
    '%s ends with a message, and the machine lives on',
    async (_, script) => {
      const shell = await lasting.open(world, 1)
      const { output, exitCode } = await shell.run(script)
      expect(output.length).toBeLessThanOrEqual(65_536)
      expect(exitCode).toBeGreaterThanOrEqual(0)
      expect(output).not.toMatch(/node_modules|\.ts:|at async/)
      expect(await shell.run('echo alive')).toEqual({ output: 'alive\n', exitCode: 0 })
      const { processes } = await shell.snapshot()
      expect(processes).toEqual(world.processes)
    },
  )

  test('a script that is out of time is answered as such, its machine is as before it, others are unnoticed', async () => {
    const pool = open(4_000)
    const [victim, culprit] = [await pool.open(world, 1), await pool.open(world, 2)]
    await victim.run('cd /tmp; echo 1 > kept; x=5; echo $RANDOM > chance')
    await culprit.run('echo before > /tmp/mine')
    const chance = (await victim.run('cat /tmp/chance')).output
    // Quadratic work in one built-in command, which nothing counts: only the end of the thread stops it.
    const lines = 'seq 1 5000 > p; seq 5000 -1 1 > q; for i in 1 2 3; do cat p p >> p2; cat q q >> q2; done'
    expect(await culprit.run(lines)).toEqual({ output: '', exitCode: 0 })
    const cut = culprit.run('diff p2 q2')
    const waiting = victim.run('pwd; echo $x; cat kept chance')
    expect(await cut).toEqual({ output: 'bash: the script ran out of time and was stopped\n', exitCode: 124 })
    expect(await waiting).toEqual({ output: `/tmp\n5\n1\n${chance}`, exitCode: 0 })
    expect(await culprit.run('cat /tmp/mine')).toEqual({ output: 'before\n', exitCode: 0 })
  })

  test.each([
    ['thousands of pipes', Array.from({ length: 4000 }, () => 'cat').join(' | ')],
    ['folders in folders', 'for i in $(seq 3000); do mkdir d; cd d; done'],
    ['a search that searches', 'find / -exec find / \\;'],
  ])('a script that holds its thread holds up no neighbour: %s', async (_, script) => {
    const pool = open(60_000)
    const [neighbour, culprit] = [await pool.open(world, 1), await pool.open(world, 2)]
    await neighbour.run('echo here > kept')
    let isEnded = false
    const held = culprit
      .run(`for i in 1 2 3 4 5; do ${script}; done`)
      .catch(() => undefined)
      .finally(() => {
        isEnded = true
      })
    expect(await neighbour.run('cat kept')).toEqual({ output: 'here\n', exitCode: 0 })
    expect(isEnded).toBe(false)
    await culprit.close()
    await held
  })

  test('the same world and the same scripts give the same output', async () => {
    const pool = open(60_000, 2)
    const scripts = [
      'date; echo $RANDOM',
      'touch x; ls -l --full-time; stat x',
      'awk "BEGIN{srand(); print rand()}"',
    ]
    const outputs = []
    for (let machine = 0; machine < 2; machine++) {
      const shell = await pool.open(world, 7)
      const said = []
      for (const script of scripts) said.push((await shell.run(script)).output)
      outputs.push(said)
    }
    expect(outputs[0]).toEqual(outputs[1])
  })

  test('folder, variables, files and processes carry over from script to script', async () => {
    const shell = await open(60_000).open(
      {
        ...world,
        processes: [...world.processes, { pid: 77, user: 'eve', cpu: 1, memory: 2, command: 'spin' }],
      },
      1,
    )
    await shell.run('cd /tmp && export A=1; B=2; echo here > file; kill 77')
    expect(await shell.run('echo $PWD $A $B; cat file; pgrep spin || echo gone')).toEqual({
      output: '/tmp 1 2\nhere\ngone\n',
      exitCode: 0,
    })
  })

  test('both streams are shown in the order of writing', async () => {
    const shell = await open(60_000).open(world, 1)
    expect((await shell.run('echo a; echo b >&2; nosuch; echo c')).output).toBe(
      'a\nb\nbash: nosuch: command not found\nc\n',
    )
  })

  test('a closed pool opens no more, and a shell may be closed twice', async () => {
    const pool = open(60_000)
    const shell = await pool.open(world, 1)
    await shell.close()
    await shell.close()
    await pool.close()
    await expect(pool.open(world, 1)).rejects.toMatchObject({ kind: 'session_lost' })
  })
})
