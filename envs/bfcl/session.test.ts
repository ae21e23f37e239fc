import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { AssistantMessage, JsonObject } from '../../messages/message.ts'
import type { Environment, StepResult, Task } from '../contract/environment.ts'
import { bfcl } from './definition.ts'
import { install } from './installation.ts'

const missing = await install(undefined, undefined).then(
  () => undefined,
  (fault: Error) => fault.message,
)

const nothing: AssistantMessage = { role: 'assistant', content: 'Done.' }

function call(name: string, given: unknown = {}, exactArguments?: string): AssistantMessage {
  const exact = exactArguments === undefined ? {} : { exactArguments }
  return {
    role: 'assistant',
    content: '',
    tool_calls: [{ name, arguments: given as JsonObject, ...exact }],
  }
}

function textOf({ messages }: StepResult): string {
  return messages.map(({ content }) => content).join('\n')
}

describe.skipIf(missing !== undefined)('a conversation', () => {
  let task: Task
  let session: Environment
  beforeAll(async () => {
    task = await bfcl.open({})
    session = await task.create()
  })
  afterAll(async () => {
    await session.close()
    await task.close()
  })

  test('a message without a call ends the turn of the user, and after the last turn it is graded', async () => {
    const { messages, info } = await session.reset('multi_turn_base_1')
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(info).toEqual({ turn: 0, turns: 4 })
    for (let turn = 1; turn < 4; turn++)
      expect(await session.step(nothing)).toMatchObject({
        messages: [{ role: 'user' }],
        info: { turn },
        done: false,
      })
    const last = await session.step(nothing)
    expect(last).toMatchObject({ done: true, outcome: 'completed', reward: 0, info: { valid: false } })
    expect(await session.step(call('ls'))).toMatchObject({ done: true, reward: 0 })
  })

  test('functions that are held back come with the turn that brings them', async () => {
    await session.reset('multi_turn_miss_func_0')
    const names = () => session.tools.map((tool) => tool.function.name)
    expect(names()).not.toContain('sort')
    for (let turn = 0; turn < 2; turn++) await session.step(nothing)
    expect(names()).not.toContain('sort')
    expect(textOf(await session.step(nothing))).toBe(
      'I have updated some more functions you can choose from. What about now?',
    )
    expect(names()).toContain('sort')
  })

  test('tools are in the form of OpenAI, with descriptions as published or without their preface', async () => {
    await session.reset('multi_turn_base_0')
    const cd = session.tools.find((tool) => tool.function.name === 'cd')
    expect(cd?.function.description).toMatch(
      /^This tool belongs to the Gorilla file system\..*Python 3 syntax\.$/,
    )
    expect(cd?.function.parameters).toMatchObject({ type: 'object', required: ['folder'] })
    const short = await bfcl.open({ settings: { tools: 'short', prompt: 'none' } })
    const other = await short.create()
    const { messages } = await other.reset('base/multi_turn_base_0')
    expect(messages.map(({ role }) => role)).toEqual(['user'])
    expect(other.tools.find((tool) => tool.function.name === 'cd')?.function.description).toMatch(
      /^Change the current working directory/,
    )
    await short.close()
  })

  test('more than 20 messages with calls in a turn end the episode, but not a replay', async () => {
    const unlimited = await bfcl.open({ unlimited: true })
    const replay = await unlimited.create()
    for (const environment of [session, replay]) {
      await environment.reset('multi_turn_base_0')
      for (let step = 0; step < 20; step++)
        expect(await environment.step(call('pwd'))).toMatchObject({ done: false })
    }
    expect(await session.step(call('pwd'))).toMatchObject({ done: true, outcome: 'task_limit', reward: 0 })
    expect(await replay.step(call('pwd'))).toMatchObject({ done: false })
    await unlimited.close()
  })

  test('numbers keep their text from the call to the answer', async () => {
    await session.reset('multi_turn_base_50')
    expect(session.tools.map((tool) => tool.function.name)).toContain('fillFuelTank')
    const once = textOf(await session.step(call('gallon_to_liter', { gallon: 10 })))
    await session.reset('multi_turn_base_50')
    const exact = textOf(await session.step(call('fillFuelTank', { fuelAmount: 10 }, '{"fuelAmount":10.0}')))
    expect([once, exact]).toEqual([
      '{"liter": 37.8541}',
      expect.stringMatching(/^\{"fuelLevel": \d+\.\d+\}$/),
    ])
  })

  test('arguments and names that cannot be used are answered, and never evaluated', async () => {
    await session.reset('multi_turn_base_0')
    const marker = 'perdure_was_evaluated'
    const code = `__import__('os').system('touch /tmp/${marker}')`
    const answers = [
      call('__class__'),
      call('_load_scenario', { scenario: {} }),
      call('print', { x: 1 }),
      call(`ls(${code})`),
      call('cd', { [`folder='x', y=${code}`]: 1 }),
      call('cd', { folder: code }),
      call('cd', null),
      call('cd', [1]),
      call('cd', { folder: 'x'.repeat(1_000_000) }),
      call('x'.repeat(1_000_000)),
      call('cd', {}, '{"folder": '),
      call('cd', {}, `{"folder": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
      call('cd', {}, '{"folder": 1e400}'),
    ]
    for (const action of answers) {
      const result = await session.step(action)
      expect(result).toMatchObject({ reward: 0, done: false })
      expect(textOf(result)).toMatch(/^(Error|\{"error")/)
      expect(textOf(result).length).toBeLessThan(1000)
      await session.reset('multi_turn_base_0')
    }
    expect(await readdir('/tmp')).not.toContain(marker)
  })

  test.each([
    ['a number of a billion digits', 'power', { base: 10, exponent: 1_000_000_000 }],
    ['a tower of powers', 'power', { base: 1e9, exponent: 1e9 }],
    ['a root of a billion digits', 'square_root', { number: 2, precision: 1_000_000_000 }],
    ['a logarithm of a hundred million digits', 'logarithm', { value: 3, base: 7, precision: 99_999_999 }],
  ])('%s is refused or given up, and the session lives on', async (_, name, given) => {
    // An instance with the functions of mathematics.
    await session.reset('multi_turn_base_15')
    expect(session.tools.map((tool) => tool.function.name)).toContain(name)
    expect(textOf(await session.step(call(name, given)))).toMatch(/^Error during execution: |^\{"error"/)
    expect(textOf(await session.step(call('add', { a: 1, b: 2 })))).toBe('{"result": 3}')
  })

  test('what one session does is unknown to another', async () => {
    const other = await task.create()
    await session.reset('multi_turn_base_0')
    await other.reset('multi_turn_base_0')
    await session.step(call('mkdir', { dir_name: 'mine' }))
    expect(textOf(await session.step(call('ls')))).toContain('mine')
    expect(textOf(await other.step(call('ls')))).not.toContain('mine')
    await other.close()
  })
})

describe('setting up', () => {
  test('without Python the suite says what to do, and everything but playing works', async () => {
    vi.stubEnv('PERDURE_PYTHON', 'no-such-python')
    const task = await bfcl.open({})
    expect(task.splits.map(({ size }) => size)).toEqual([200, 200, 200, 200])
    await expect(task.create()).rejects.toMatchObject({
      kind: 'backend',
      message: expect.stringMatching(
        /needs Python 3.10 or newer \(no-such-python: not found\).*PERDURE_PYTHON/,
      ),
    })
    await task.close()
    vi.unstubAllEnvs()
  })

  test('several at once leave one whole folder', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'perdure-bfcl-'))
    // Installs one file where pip would install the packages.
    const python = path.join(folder, 'python')
    const installs = 'while [ "$1" != --target ]; do shift; done; mkdir "$2/bfcl_eval"'
    await writeFile(python, `#!/bin/sh\ncase "$*" in *version_info*) echo 3 12 ;; *) ${installs} ;; esac\n`, {
      mode: 0o755,
    })
    try {
      const found = await Promise.all([1, 2, 3].map(() => install(folder, python)))
      expect(new Set(found.map(({ site }) => site)).size).toBe(1)
      const [name = '', ...others] = await readdir(path.join(folder, 'bfcl'))
      expect(others).toEqual([])
      expect(await readdir(path.join(folder, 'bfcl', name))).toContain('bfcl_eval')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test.skipIf(missing !== undefined)(
    'an index that cannot be reached leaves nothing, and says what to do',
    async () => {
      const folder = await mkdtemp(path.join(tmpdir(), 'perdure-bfcl-'))
      vi.stubEnv('PIP_CONFIG_FILE', '/dev/null')
      vi.stubEnv('PIP_INDEX_URL', 'http://127.0.0.1:9/simple')
      vi.stubEnv('PIP_RETRIES', '0')
      try {
        await expect(install(folder, undefined)).rejects.toThrow(/cannot be set up.*PIP_INDEX_URL/)
        expect(await readdir(path.join(folder, 'bfcl'))).toEqual([])
      } finally {
        vi.unstubAllEnvs()
        await rm(folder, { recursive: true })
      }
    },
  )
})
