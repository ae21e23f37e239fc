/** Checks of the dry run and the start before anything begins: policy, engine, trainer, first reset. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkPretrained } from '../../activities/warm-start/first-checkpoint.ts'
import { answerTo } from '../../cli/terminal/answer.testing.ts'
import { configSchema } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { writePublishedModel } from '../../test/peers/published-model.ts'
import { createEchoTask } from '../../test/support/echo-task.ts'
import { tinyConfig } from '../../test/support/tiny-run.ts'
import { checkLearning, checkServers, checkTrackers } from './start-check.ts'
import { checkRun, checkTasks } from './task-check.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-start-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4096\n'

describe('a model folder', () => {
  let model: string
  let made = 0
  beforeEach(async () => {
    model = await writePublishedModel(join(home, `model-${made++}`))
  })
  const file = (name: string) => join(model, name)

  it('that is whole is accepted', async () => {
    await checkPretrained(model, 512)
  })

  it.each<[string, (of: typeof file) => void, RegExp]>([
    [
      'weights of another format',
      (of) => renameSync(of('model.safetensors'), of('pytorch_model.bin')),
      /pytorch_model\.bin.*safe_serialization/,
    ],
    ['no tokenizer', (of) => rmSync(of('tokenizer.json')), /tokenizer\.json: no such file/],
    [
      'a Git LFS pointer for the weights',
      (of) => writeFileSync(of('model.safetensors'), pointer),
      /model\.safetensors is a Git LFS pointer.*git lfs pull/,
    ],
    [
      'a Git LFS pointer for the tokenizer',
      (of) => writeFileSync(of('tokenizer.json'), pointer),
      /tokenizer\.json is a Git LFS pointer/,
    ],
    [
      'a half-downloaded file',
      (of) => truncateSync(of('model.safetensors'), 4000),
      /model\.safetensors: .*tensor|the header claims/,
    ],
    [
      'weights of another shape',
      (of) =>
        writeFileSync(
          of('config.json'),
          JSON.stringify({
            ...JSON.parse('{}'),
            model_type: 'llama',
            vocab_size: 7,
            hidden_size: 4,
            intermediate_size: 6,
            num_hidden_layers: 1,
            num_attention_heads: 2,
          }),
        ),
      /tensor ".*" has shape/,
    ],
    ['a broken tokenizer', (of) => appendFileSync(of('tokenizer.json'), '}'), /tokenizer\.json/],
  ])('with %s is refused by the file', async (_, spoil, message) => {
    spoil(file)
    await expect(checkPretrained(model, 512)).rejects.toThrow(message)
  })

  it('that cannot be started from ends the dry run with exit code 2, named by its key', async () => {
    writeFileSync(file('model.safetensors'), pointer)
    const answer = await answerTo('train', '--dry-run', '--set', `policy.from=${model}`)
    expect(answer).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/`policy\.from` is .*git lfs pull/),
    })
  })
})

describe('a trainer', () => {
  const trainedBy = (trainer: readonly string[] | string) => configSchema.parse({ policy: { trainer } })

  it('that does not exist, or dies before it answers, is refused by its key with its last words', async () => {
    await expect(checkLearning(trainedBy([join(home, 'no-trainer')]))).rejects.toThrow(
      /^`policy\.trainer` is .*: expected a trainer that can be started/,
    )
    const dying = [process.execPath, '-e', 'console.error("No module named torch"); process.exit(1)']
    await expect(checkLearning(trainedBy(dying))).rejects.toThrow(/No module named torch/)
  })

  it('that offers no update is refused, and so is a module that does not open', async () => {
    const idle = [
      process.execPath,
      '-e',
      'process.stdin.once("data", () => console.log(JSON.stringify({ id: 0, result: { methods: [] } })))',
    ]
    await expect(checkLearning(trainedBy(idle))).rejects.toThrow(/expected the method "update"/)
    const module = join(home, 'closed.mjs')
    writeFileSync(
      module,
      'export const trainer = { name: "closed", openTrainer: async () => { throw new Error("no licence") } }',
    )
    await expect(checkLearning(trainedBy(module))).rejects.toThrow(/`policy\.trainer` is .*no licence/)
  })
})

describe('an engine', () => {
  const served = (engineUrl: string) =>
    configSchema.parse({ policy: { engine: 'vllm', engineUrl, from: '/model' } })

  it('whose server does not answer is refused by its address', async () => {
    await expect(checkServers(served('http://127.0.0.1:1'))).rejects.toThrow(
      /^`policy\.engineUrl` is "http:\/\/127\.0\.0\.1:1": expected the address of a running server of vllm.*cannot be reached/,
    )
  })

  it('whose server is of another kind is refused, and one of its kind is accepted', async () => {
    let path = '/props'
    const server = createServer(({ url }, response) => response.writeHead(url === path ? 200 : 404).end('{}'))
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as AddressInfo
    try {
      await expect(checkServers(served(`http://127.0.0.1:${port}`))).rejects.toThrow(/is one of llama\.cpp/)
      path = '/version'
      await checkServers(served(`http://127.0.0.1:${port}`))
    } finally {
      server.close()
    }
  })
})

describe('the first reset of an environment', () => {
  const config = tinyConfig()
  const { definition } = createEchoTask()

  function withReset(reset: (instance: string) => Promise<void>): EnvironmentDefinition {
    return {
      ...definition,
      async open(options) {
        const task = await definition.open(options)
        return {
          ...task,
          async create() {
            const session = await task.create()
            return {
              ...session,
              async reset(instance) {
                await reset(instance)
                return await session.reset(instance)
              },
            }
          },
        }
      },
    }
  }

  it('that throws is refused by the task, with the call, the instance and the reason', async () => {
    const broken = withReset(() => Promise.reject(new Error('no board')))
    await expect(checkRun(config, { home, own: [broken] })).rejects.toThrow(
      /^`tasks\.0\.task` is "echo": expected an environment whose instances can be begun: reset of echo on train\/2 failed: no board/,
    )
  })

  it('of a module that throws ends the command with exit code 2', () => {
    const module = join(home, 'maze.ts')
    const code =
      "import { defineEnvironment } from 'perdure'\nexport const maze = defineEnvironment('maze', { start: () => { throw new Error('no board') } })"
    writeFileSync(module, code)
    const file = join(home, 'maze.yaml')
    const tasks = [{ task: 'maze', from: module }]
    writeFileSync(
      file,
      JSON.stringify({ tasks, warmStart: { demonstrations: 0 }, evaluation: { suites: [] } }),
    )
    const program = join(import.meta.dirname, '..', '..', 'bin', 'perdure.mjs')
    const { status, stderr } = spawnSync(
      process.execPath,
      [program, 'train', file, '--dry-run', '--home', home],
      {
        encoding: 'utf8',
      },
    )
    expect(stderr).toMatch(/`tasks\.0\.from` is .*reset of maze on train\/\d+ failed: no board/)
    expect(status).toBe(2)
  }, 60_000)

  it('that fails on one instance alone is a notice', async () => {
    const partly = withReset(async (instance) => {
      if (instance === 'train/0') throw new Error('no board')
    })
    const { notices } = await checkTasks(config, { home, own: [partly] })
    expect(notices).toEqual(['reset of echo on train/0 failed: no board'])
  })

  it('that never answers is reported after seconds, and refused when its time is up', async () => {
    vi.useFakeTimers()
    try {
      const said: string[] = []
      const hanging = { ...withReset(() => new Promise(() => undefined)), stepTimeoutSeconds: 30 }
      const refusal = expect(
        checkTasks(config, { home, own: [hanging], report: (line) => said.push(line) }),
      ).rejects.toThrow(/reset of echo on train\/0 did not answer within 30 s/)
      await vi.advanceTimersByTimeAsync(5_000)
      expect(said).toEqual(['reset of echo on train/0 has not answered for 5 s; it is given up after 30 s'])
      await vi.advanceTimersByTimeAsync(25_000)
      await refusal
    } finally {
      vi.useRealTimers()
    }
  })

  it('is not looked at where the task has to be set up first', async () => {
    const unprepared: EnvironmentDefinition = {
      ...withReset(() => Promise.reject(new Error('no image yet'))),
    }
    const prepared: EnvironmentDefinition = {
      ...unprepared,
      open: async (options) => ({ ...(await unprepared.open(options)), prepare: async () => undefined }),
    }
    await checkTasks(config, { home, own: [prepared], setUp: false })
  })
})

describe("a tracker's folder", () => {
  const checked = (tensorboard: string) => () =>
    checkTrackers(configSchema.parse({ trackers: { tensorboard } }))

  it('that cannot be made is refused by its key, and nothing is left where it can', () => {
    const file = join(home, 'a-file')
    writeFileSync(file, '')
    expect(checked(join(file, 'below'))).toThrow(/`trackers\.tensorboard` is .*a-file\/below.*ENOTDIR/)
    const folder = join(home, 'none', 'yet')
    expect(checked(folder)).not.toThrow()
    expect(existsSync(join(home, 'none'))).toBe(false)
  })

  it.runIf(process.platform === 'linux')('below /proc is refused at once', () => {
    expect(checked('/proc/perdure/below')).toThrow('expected a folder that can be written')
  })
})
