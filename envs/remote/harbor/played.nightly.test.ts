/** Harbor tasks in containers: solved, left alone, cheated, and with verifiers that fail. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import Docker from 'dockerode'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engineMissing, startEngine, type TestEngine } from '../../../test/host/container-engine.ts'
import { calling } from '../../contract/agent-tool.ts'
import type { StepResult, Task } from '../../contract/environment.ts'
import { remoteEnvironment } from '../remote-environment.ts'
import { nothing } from './demonstration.ts'

const missing = engineMissing()
if (missing !== undefined) console.warn(`tasks of Harbor are not tested: ${missing}`)

const playerFile = join(import.meta.dirname, 'player.testing.ts')
const examples = join(import.meta.dirname, '../../../examples/harbor/tasks')
const settings = { images: { 'debian:bookworm-slim': 'perdure/os-debian:3' } }

describe.skipIf(missing !== undefined)('tasks of Harbor', () => {
  let engine: TestEngine
  let folder = ''
  const before = process.env.DOCKER_HOST
  const opened: Task[] = []

  beforeAll(async () => {
    engine = await startEngine()
    process.env.DOCKER_HOST = engine.address
    folder = mkdtempSync(join(tmpdir(), 'perdure-harbor-'))
    cpSync(examples, folder, { recursive: true })
  }, 600_000)
  afterAll(async () => {
    for (const task of opened) await task.close()
    await engine?.close()
    if (before === undefined) delete process.env.DOCKER_HOST
    else process.env.DOCKER_HOST = before
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  /** The task as its folder is now; one at a time. */
  async function open(more = {}): Promise<Task> {
    for (const task of opened.splice(0)) await task.close()
    const task = await remoteEnvironment(`harbor+${folder}`, 'it').open({
      settings: { ...settings, ...more },
    })
    opened.push(task)
    return task
  }

  const docker = () => new Docker({ socketPath: engine.address.slice('unix://'.length) })
  const containers = () => docker().listContainers({ all: true })

  /** A copy of a task under another name, with other files. */
  function vary(of: string, name: string, files: Readonly<Record<string, string>>): string {
    cpSync(join(examples, of), join(folder, name), { recursive: true })
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(folder, name, file, '..'), { recursive: true })
      writeFileSync(join(folder, name, file), text)
    }
    return name
  }

  /** The last step of these commands, and then `done`. */
  async function played(task: Task, instance: string, commands: readonly string[]): Promise<StepResult> {
    const session = await task.create()
    try {
      await session.reset(instance)
      for (const command of commands) {
        const result = await session.step(calling('bash', { command }))
        if (result.done) return result
      }
      return await session.step(nothing[0] as never)
    } finally {
      await session.close()
    }
  }

  test('the solution of each of the ten earns 1, and doing nothing 0', async () => {
    const task = await open()
    const names = Array.from({ length: 10 }, (_, index) => task.instanceAt('train', index))
    expect(new Set(names).size).toBe(10)
    const earned: Record<string, readonly number[]> = {}
    for (const name of names) {
      const shown = await task.demonstrate?.(name)
      const commands = shown?.actions.flatMap(({ tool_calls: calls = [] }) =>
        calls.flatMap((call) => (call.name === 'bash' ? [String(call.arguments.command)] : [])),
      )
      const solved = await played(task, name, commands ?? [])
      const idle = await played(task, name, [])
      earned[name] = [solved.reward, idle.reward]
    }
    expect(earned).toEqual(Object.fromEntries(names.map((name) => [name, [1, 0]])))
  })

  const pay =
    'mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo 1 > /logs/verifier/reward.json'
  const loop = `(setsid bash -c 'while :; do ${pay}; cp /tmp/pay /tests/test.sh; sleep 0.01; done' > /dev/null 2>&1 &)`
  const fake = "printf '#!/bin/sh\\necho 5\\n' > /tmp/fake; chmod 755 /tmp/fake"
  const script = `printf '#!/bin/sh\\n${pay}\\n' > /tmp/pay; chmod 755 /tmp/pay`

  // [OVERLAY-1]
  test.each([
    ['writes the reward', pay],
    ['writes the tests', `${script}; mkdir -p /tests; cp /tmp/pay /tests/test.sh; chmod a-w /tests/test.sh`],
    ['leaves a process behind', `${script}; mkdir -p /tests; ${loop}`],
    ['replaces a tool', `${fake}; rm /usr/bin/cat; cp /tmp/fake /usr/bin/cat; cp /tmp/fake /bin/cat`],
    ['replaces bash', `${script}; mv /usr/bin/bash /usr/bin/old; cp /tmp/pay /usr/bin/bash`],
    [
      'puts a tool before others',
      `${fake}; cp /tmp/fake /usr/local/bin/cat; cp /tmp/fake /usr/local/sbin/cat`,
    ],
    [
      'puts a folder before others',
      `${fake}; mkdir /e; cp /tmp/fake /e/cat; rmdir /usr/local/bin; ln -s /e /usr/local/bin`,
    ],
    ['preloads a library', 'echo /app/evil.so > /etc/ld.so.preload; touch /app/evil.so'],
    [
      'makes the output the reward',
      'mkdir -p /logs/verifier; ln -s /logs/verifier/reward.txt /app/count.txt',
    ],
    ['leads the reward elsewhere', `rm -rf /logs; mkdir -p /app/verifier; ln -s /app /logs; ${pay}`],
    [
      'leads the tests elsewhere',
      `${script}; rm -rf /tests; mkdir /app/t; cp /tmp/pay /app/t/test.sh; ln -s /app/t /tests`,
    ],
    ['makes the reward a folder', 'rm -rf /logs/verifier; mkdir -p /logs/verifier/reward.txt/x'],
    ['ends its machine', 'kill -KILL -1; kill -KILL 1'],
  ])('an agent that %s earns 0', async (_, command) => {
    const task = await open()
    expect(await played(task, 'count-files', [command])).toMatchObject({ reward: 0, done: true })
  })

  test.each([
    ['writes the reward', pay],
    [
      'writes it among the artifacts',
      'mkdir -p /logs/artifacts/verifier; echo 1 > /logs/artifacts/verifier/reward.txt',
    ],
    ['links to the answer', 'ln -s /tests/squares.txt /app/squares.txt'],
  ])('an agent that %s earns 0 of a separate verifier', async (_, command) => {
    const task = await open()
    expect((await played(task, 'separate-verifier', [command])).reward).toBe(0)
  })

  test('honest work beside broken tools is paid, and neither tests nor solution are there before', async () => {
    const task = await open()
    const honest = 'ls /tests /solution > /app/seen 2>&1; echo 5 > /app/count.txt; rm /usr/bin/cat'
    expect((await played(task, 'count-files', [honest])).reward).toBe(1)
    const seen = await played(task, 'count-files', [
      '[ ! -e /tests ] && [ ! -e /solution ] && echo 5 > count.txt',
    ])
    expect(seen.reward).toBe(1)
  })

  test('a part of the work is paid as the verifier says', async () => {
    const task = await open()
    const { reward, info } = await played(task, 'partial-reward', ['touch /app/one /app/three'])
    expect([reward, info.rewards]).toEqual([0.5, { reward: 0.5, files: 2 }])
  })

  // [HARBOR-VERIFIER-1] [HARBOR-REWARD-1]
  test.each([
    ['is late', 'sleep 60', /did not end within 1 s/],
    ['writes nothing', 'exit 0', /wrote neither/],
    ['writes NaN', 'echo NaN > /logs/verifier/reward.txt', /expected a number/],
    ['writes garbage', 'head -c 99 /dev/urandom > /logs/verifier/reward.txt', /expected a number/],
    ['writes too much', 'head -c 99999 /dev/zero > /logs/verifier/reward.txt', /no file of at most/],
    ['writes a link', 'ln -s /etc/hostname /logs/verifier/reward.txt', /no file of at most/],
    ['writes no numbers', 'echo "{\\"reward\\": null}" > /logs/verifier/reward.json', /numbers by key/],
  ])('a verifier that %s is a fault and no reward', async (what, tests, message) => {
    const name = vary('count-files', what.replaceAll(' ', '-'), {
      'tests/test.sh': `#!/bin/bash\n${tests}\n`,
      'task.toml': '[verifier]\ntimeout_sec = 1\n[environment]\nstorage_mb = 256\nmemory_mb = 256\n',
    })
    const task = await open()
    await expect(played(task, name, [])).rejects.toMatchObject({
      ...{ kind: 'backend', permanent: false, message: expect.stringMatching(message) },
    })
  })

  // [HARBOR-MACHINE-1] [HARBOR-MACHINE-2] [HARBOR-SESSION-1]
  test('a task has the time, the cores and the memory that it names, and no network', async () => {
    const name = vary('count-files', 'limited', {
      'task.toml': '[agent]\ntimeout_sec = 2\n[environment]\ncpus = 1\nstorage_mb = 256\nmemory_mb = 64\n',
    })
    const task = await open()
    const session = await task.create()
    await session.reset(name)
    const [running] = await containers()
    const { HostConfig } = await docker()
      .getContainer(running?.Id ?? '')
      .inspect()
    expect([HostConfig.NanoCpus, HostConfig.Memory, HostConfig.NetworkMode]).toEqual([1e9, 2 ** 26, 'none'])
    const { messages } = await session.step(
      calling('bash', { command: 'ls /sys/class/net; echo 5 > count.txt' }),
    )
    expect(messages[0]?.content).toBe('lo')
    // The work was done before the time was up.
    expect(await session.step(calling('bash', { command: 'sleep 60' }))).toMatchObject({
      done: true,
      reward: 1,
    })
    await session.close()
  })

  // [HARBOR-IMAGE-2]
  test('an image that cannot be had is refused with file and line, and the other tasks are played', async () => {
    vary('count-files', 'no-base', { 'environment/Dockerfile': '# a\nFROM nowhere.invalid/base:1\n' })
    vary('count-files', 'no-step', { 'environment/Dockerfile': 'FROM debian:bookworm-slim\n\nRUN exit 3\n' })
    vary('count-files', 'no-image', { 'task.toml': '[environment]\ndocker_image = "nowhere:1"\n' })
    vary('count-files', 'no-cores', { 'task.toml': '[environment]\ncpus = 4000\n' })
    const tar = pack()
    tar.entry({ name: 'Dockerfile' }, 'FROM perdure/os-debian:3\nUSER 1000\n')
    tar.finalize()
    await text((await docker().buildImage(Readable.from(tar), { t: 'users:1' })) as Readable)
    vary('count-files', 'no-root', { 'environment/Dockerfile': 'FROM users:1\n' })
    const task = await open()
    const fault = (name: string) => played(task, name, []).catch(({ kind, message }) => `${kind} ${message}`)
    expect(await fault('no-base')).toMatch(/^bad_data .*no-base\/environment\/Dockerfile:2: FROM nowhere/)
    expect(await fault('no-step')).toMatch(/^bad_data .*no-step\/environment\/Dockerfile:3: RUN exit 3/)
    expect(await fault('no-image')).toMatch(/^bad_data .*no-image\/task\.toml:2: .*has no image nowhere:1/)
    expect(await fault('no-root')).toMatch(
      /^bad_data .*no-root\/environment\/Dockerfile:1: the user .* is 1000/,
    )
    expect(await fault('no-cores')).toMatch(/^bad_data .*no-cores\/task\.toml:2: environment\.cpus is 4000/)
    expect((await played(task, 'count-files', ['echo 5 > count.txt'])).reward).toBe(1)
    await task.prepare?.()
    expect(task.warnings?.filter((warning) => warning.includes('cannot be played'))).toHaveLength(4)
  })

  test('twenty processes that are killed while they build, play and grade leave no container and no folder', async () => {
    for (const each of opened.splice(0)) await each.close()
    const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith('perdure-os-'))
    const before = left()
    const most: number[] = []
    for (let kill = 0; kill < 20; kill++) {
      // Each builds the image of one task again.
      writeFileSync(join(folder, 'count-files/environment/mark'), String(kill))
      const player = spawn('node', [playerFile, folder, JSON.stringify(settings)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(player.stdout, 'data')
      await delay(200 * kill)
      most.push((await containers()).length)
      player.kill('SIGKILL')
      await once(player, 'exit')
    }
    expect(Math.max(...most)).toBeGreaterThan(2)
    await expect.poll(async () => (await containers()).length, { timeout: 60_000 }).toBe(0)
    expect(left()).toEqual(before)
  })

  // [HARBOR-IMAGE-1] [HARBOR-VERIFIER-2] [IMAGES-1]
  test('afterwards there is no container, and one image for each folder', async () => {
    for (const task of opened.splice(0)) await task.close()
    await expect.poll(async () => (await containers()).length, { timeout: 60_000 }).toBe(0)
    const images = (await docker().listImages()).flatMap(({ RepoTags }) => RepoTags ?? [])
    expect(images.filter((name) => name.startsWith('perdure-harbor:')).length).toBeGreaterThanOrEqual(9)
  })
})
