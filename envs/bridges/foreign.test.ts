import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isAlive } from '../../machine/processes/process.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { type Environment, EnvironmentFault, type Task } from '../contract/environment.ts'
import { foreignEnvironment } from './foreign-environment.ts'
import { demonstratedSchema } from './protocol.ts'

/** An environment in another process that misbehaves on request. */
const program = `
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
const tool = { type: 'function', function: { name: 'say', description: 'Says.', parameters: { type: 'object' } } }
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n')
const tricks = {
  crash: () => { console.error('the roof is on fire'); process.exit(3) },
  hang: () => { const child = spawn('sleep', ['1000']); console.error('child ' + child.pid) },
  garbage: () => process.stdout.write('hello\\n'),
  other: (id) => say({ id: id + 1, result: {} }),
  shapeless: (id) => say({ id, result: { messages: 'none' } }),
  twice: (id) => { process.stdout.write('{}\\n{}\\n') },
  endless: () => { const text = 'x'.repeat(1 << 20); for (let i = 0; i < 20; i++) process.stdout.write(text) },
  rich: (id) => say({ id, result: { messages: [], reward: -1000001, done: false } }),
  plain: (id) => say({ id, result: { messages: [] } }),
  unknown: (id) => say({ id, error: { kind: 'unknown_instance', message: 'no such place' } }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const call = params.action?.tool_calls?.[0]
  const trick = tricks[params.instance] ?? tricks[call?.name]
  if (trick) return trick(id)
  if (method === 'open') say({ id, result: { splits: [{ name: 'train', size: null }, { name: 'test', size: 3 }] } })
  else if (method === 'reset') say({ id, result: { messages: [{ role: 'user', content: params.instance }], tools: [tool], info: { pid: process.pid } } })
  else if (method === 'step') say({ id, result: { messages: [{ role: 'tool', name: 'say', content: call ? call.arguments : '-' }], reward: call ? 0 : 1, done: !call, tools: [] } })
  else say({ id, result: {} })
})
`

let folder: string
let task: Task
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'perdure-foreign-'))
  await writeFile(path.join(folder, 'environment.mjs'), program)
  task = await open()
})
afterAll(async () => {
  await task.close()
  await rm(folder, { recursive: true })
})

function open(command = process.execPath): Promise<Task> {
  return foreignEnvironment({
    name: 'foreign',
    summary: 'A test.',
    source: 'made here',
    licence: 'Apache-2.0',
    reward: '1 for saying nothing',
    replayable: true,
    replayableBecause: 'there is nothing random in it',
    turnLimit: 3,
    command,
    args: ['environment.mjs'],
    cwd: folder,
    deadlines: { stepMs: 3000 },
  }).open({})
}

function call(name: string, given: object = {}): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: given as never }] }
}

async function using<T>(run: (environment: Environment) => Promise<T>): Promise<T> {
  const environment = await task.create()
  try {
    return await run(environment)
  } finally {
    await environment.close()
  }
}

test('splits, messages, tools and endings come from the process', () =>
  using(async (environment) => {
    expect(task.splits).toEqual([
      { name: 'train', size: Number.POSITIVE_INFINITY },
      { name: 'test', size: 3 },
    ])
    expect(task.instanceAt('test', 4)).toBe('test/1')
    const { messages } = await environment.reset('test/1')
    expect(messages).toEqual([{ role: 'user', content: 'test/1' }])
    expect(environment.tools.map((tool) => tool.function.name)).toEqual(['say'])
    expect(await environment.step(call('say', { a: 1 }))).toMatchObject({ reward: 0, done: false })
    expect(environment.tools).toEqual([])
    expect(await environment.step({ role: 'assistant', content: '' })).toMatchObject({
      reward: 1,
      done: true,
      outcome: 'completed',
    })
  }))

test('an environment without tools is one of words, and without an expert one without demonstrations', () =>
  using(async (environment) => {
    await environment.reset('plain')
    expect(environment.tools).toEqual([])
    expect(task.demonstrate).toBeUndefined()
  }))

test.each([
  [{ actions: null }, null],
  [{ actions: [{ role: 'assistant' }] }, [{ role: 'assistant', content: '', tool_calls: [] }]],
  [
    {
      actions: [{ role: 'assistant', content: 'a', tool_calls: [{ name: 'say', arguments: '{"b": [1]}' }] }],
    },
    [{ role: 'assistant', content: 'a', tool_calls: [{ name: 'say', arguments: { b: [1] } }] }],
  ],
])('the expert of a process shows %j', (answer, actions) => {
  expect(demonstratedSchema.parse(answer)).toEqual({ actions })
})

test.each(['[1]', '{', 'null'])('arguments of an expert that are no object are refused: %s', (text) => {
  const tool_calls = [{ name: 'say', arguments: text }]
  const { success } = demonstratedSchema.safeParse({ actions: [{ role: 'assistant', tool_calls }] })
  expect(success).toBe(false)
})

test('numbers of arguments arrive as they were written', () =>
  using(async (environment) => {
    await environment.reset('test/0')
    const exact = { name: 'say', arguments: { a: 86 }, exactArguments: '{"a":86.0}' }
    const { messages } = await environment.step({ role: 'assistant', content: '', tool_calls: [exact] })
    expect(messages[0]?.content).toBe('{"a":86.0}')
  }))

// [REWARD-BOUNDS-1]
test('a reward beyond the bounds is refused by name, and a retry would not repair it', () =>
  using(async (environment) => {
    await environment.reset('test/0')
    await expect(environment.step(call('rich'))).rejects.toMatchObject({
      kind: 'bad_data',
      permanent: true,
      message: expect.stringContaining(
        'paid the reward -1000001: a reward is a number from -1000000 to 1000000',
      ),
    })
  }))

describe('a process that', () => {
  test.each([
    ['crash', /ended with code 3; its last words: the roof is on fire/],
    ['garbage', /no JSON: "hello"/],
    ['other', /no answer to it/],
    ['shapeless', /where messages/],
    ['twice', /more than one line|no answer to it/],
    ['endless', /a line of more than 16777216 characters/],
  ])('does %s is lost, and the session plays on in a new one', (trick, reason) =>
    using(async (environment) => {
      const before = await environment.reset('test/0')
      await expect(environment.step(call(trick))).rejects.toMatchObject({
        name: 'EnvironmentFault',
        kind: 'session_lost',
        message: expect.stringMatching(reason),
      })
      await expect(environment.step(call('say'))).rejects.toMatchObject({ kind: 'session_lost' })
      const after = await environment.reset('test/0')
      expect(after.info.pid).not.toBe(before.info.pid)
    }),
  )

  test('misses a deadline is killed with all that it has started', () =>
    using(async (environment) => {
      await environment.reset('test/0')
      const fault: unknown = await environment.step(call('hang')).catch((error: unknown) => error)
      if (!(fault instanceof EnvironmentFault)) throw fault
      expect(fault.message).toMatch(/did not answer "step" within 3 s; its last words: child \d+/)
      const grandchild = Number(/child (\d+)/.exec(fault.message)?.[1])
      await vi.waitFor(() => expect(isAlive({ pid: grandchild })).toBe(false))
    }))

  test('reports a fault keeps its kind, and is not lost', () =>
    using(async (environment) => {
      const { info } = await environment.reset('test/0')
      await expect(environment.reset('unknown')).rejects.toMatchObject({
        kind: 'unknown_instance',
        message: 'no such place',
      })
      expect((await environment.reset('test/0')).info).toEqual(info)
    }))
})

test('live sessions never share a process, and an ended one leaves its process to the next', async () => {
  const [one, two] = await Promise.all([task.create(), task.create()])
  const first = await one.reset('test/0')
  const second = await two.reset('test/0')
  expect(second.info.pid).not.toBe(first.info.pid)
  await one.close()
  const three = await task.create()
  expect((await three.reset('test/0')).info).toEqual(first.info)
  await two.close()
  await three.close()
  await three.close()
})

test('a closed task leaves no process, not even one that hangs', async () => {
  const other = await open()
  const environment = await other.create()
  const { info } = await environment.reset('test/0')
  const pending = environment.step(call('hang')).catch((fault: unknown) => fault)
  await other.close()
  expect(await pending).toMatchObject({ kind: 'session_lost' })
  expect(isAlive({ pid: Number(info.pid) })).toBe(false)
  await environment.close()
  await expect(environment.reset('test/0')).rejects.toMatchObject({ kind: 'session_lost' })
})

test('a session that is closed while its process is at work gives up the process', async () => {
  const environment = await task.create()
  const { info } = await environment.reset('test/0')
  const pending = environment.step(call('hang')).catch((fault: unknown) => fault)
  await environment.close()
  expect(await pending).toMatchObject({ kind: 'session_lost' })
  expect(isAlive({ pid: Number(info.pid) })).toBe(false)
})

test('a command that cannot be started is said by its name', async () => {
  await expect(open('no-such-command')).rejects.toThrow(/no-such-command environment.mjs cannot be started/)
})
