import { beforeEach, describe, expect, test, vi } from 'vitest'
import { guessNumber } from '../examples/guess-number/index.ts'
import type { AssistantMessage } from '../messages/message.ts'
import { type Environment, EnvironmentFault, type StepResult, type Task } from './contract/environment.ts'
import { environments, findEnvironment } from './registry.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

/** Messages that no well-meaning agent sends; `as never` because the types forbid most of them. */
const hostile: readonly AssistantMessage[] = [
  { role: 'assistant', content: '' },
  { role: 'assistant', content: '{'.repeat(10_000) },
  { role: 'assistant', content: '', tool_calls: [] },
  ...[
    null,
    undefined,
    7,
    'take_action',
    {},
    [],
    { name: null, arguments: null },
    { name: 'no_such_tool', arguments: {} },
    { name: 'constructor', arguments: {} },
    { name: '__proto__', arguments: { __proto__: null } },
    { name: 'x'.repeat(1_000_000), arguments: {} },
  ].map((call): AssistantMessage => ({ role: 'assistant', content: '', tool_calls: [call as never] })),
  { role: 'assistant', content: '', tool_calls: 'garbage' as never },
  { role: 'assistant', content: null as never, tool_calls: null as never },
]

/** Calls of the environment's own tools with arguments that are none. */
function misuses(environment: Environment): AssistantMessage[] {
  const values = [undefined, null, 3, true, [], {}, '', ' ', '\u0000', '🫖', 'x'.repeat(1_000_000)]
  return environment.tools.flatMap(({ function: { name, parameters } }) => {
    const keys = Object.keys(parameters.properties ?? {})
    const filled = values.map((value) => Object.fromEntries(keys.map((key) => [key, value])))
    return [undefined, null, [], 'text', {}, ...filled].map(
      (given): AssistantMessage => ({
        role: 'assistant',
        content: '',
        tool_calls: [{ name, arguments: given as never }],
      }),
    )
  })
}

/** The reason why this machine cannot play each task; undefined where it can. */
const lacks = await Promise.all(
  environments.map(async (definition) => {
    const task = await definition.open({})
    try {
      await task.prepare?.()
      return undefined
    } catch (fault) {
      return fault instanceof EnvironmentFault ? fault.message : Promise.reject(fault)
    } finally {
      await task.close()
    }
  }),
)
// The example covers environments that users write with the short form.
const cases = [...environments, guessNumber].map((definition, index) => ({
  definition,
  lack: lacks[index],
  title: lacks[index] === undefined ? definition.name : `${definition.name}, skipped: ${lacks[index]}`,
}))

describe.for(cases)('the contract of $title', ({ definition, lack }) => {
  beforeEach(({ skip }) => skip(lack !== undefined, lack))

  async function withTask(run: (task: Task) => Promise<void>): Promise<void> {
    const task = await definition.open({})
    try {
      await run(task)
    } finally {
      await task.close()
    }
  }

  async function playOut(
    environment: Environment,
    instance: string,
    actions: readonly AssistantMessage[],
  ): Promise<unknown[]> {
    const seen: unknown[] = [await environment.reset(instance)]
    for (const action of actions) {
      const result = await environment.step(action)
      seen.push(result)
      if (result.done) break
    }
    return seen
  }

  test('says where it comes from and what it pays', () => {
    for (const text of [definition.summary, definition.source, definition.licence, definition.reward])
      expect(text.length).toBeGreaterThan(2)
    expect(definition.replayableBecause.length).toBeGreaterThan(10)
    expect(definition.turnLimit).toBeGreaterThan(0)
  })

  test('has instances in every split, and their ids take the index modulo the size', () =>
    withTask(async (task) => {
      for (const { name, size } of task.splits) {
        expect(size).toBeGreaterThan(0)
        if (Number.isFinite(size)) expect(task.instanceAt(name, size)).toBe(task.instanceAt(name, 0))
      }
      expect(() => task.instanceAt('no split', 0)).toThrow(EnvironmentFault)
    }))

  test('the expert earns the full reward in every split, and its last step reports each declared metric', () =>
    withTask(async (task) => {
      const environment = await task.create()
      for (const { name } of task.splits)
        for (let index = 0; index < 6; index++) {
          const instance = task.instanceAt(name, index)
          const demonstration = await task.demonstrate?.(instance)
          if (demonstration === undefined) continue
          const [, ...steps] = await playOut(environment, instance, demonstration.actions)
          const results = steps as StepResult[]
          expect(results.reduce((sum, { reward }) => sum + reward, 0)).toBe(1)
          expect(results.at(-1)).toMatchObject({ done: true, outcome: 'completed' })
          for (const metric of Object.keys(definition.metrics ?? {}))
            expect(results.at(-1)?.info[metric]).toBe(1)
          for (const result of results.slice(0, -1)) {
            expect(result.done).toBe(false)
            expect(result.outcome).toBeUndefined()
          }
        }
      await environment.close()
    }))

  test('doing nothing earns nothing', () =>
    withTask(async (task) => {
      const environment = await task.create()
      for (const { name } of task.splits) {
        await environment.reset(task.instanceAt(name, 3))
        for (let turn = 0; turn < 5; turn++) {
          const { reward } = await environment.step({ role: 'assistant', content: '' })
          expect(reward).toBe(0)
        }
      }
      await environment.close()
    }))

  // [ENVIRONMENT-1]
  test('the same actions give the same bytes, in a new session and in a used one', () =>
    withTask(async (task) => {
      const instance = task.instanceAt(task.splits[0]?.name ?? '', 5)
      const actions = [...hostile.slice(0, 5), ...((await task.demonstrate?.(instance))?.actions ?? [])]
      const first = await task.create()
      const second = await task.create()
      const once = JSON.stringify(await playOut(first, instance, actions))
      await playOut(first, task.instanceAt(task.splits[0]?.name ?? '', 6), actions)
      expect(JSON.stringify(await playOut(first, instance, actions))).toBe(once)
      expect(JSON.stringify(await playOut(second, instance, actions))).toBe(once)
      await first.close()
      await second.close()
    }))

  // [ENVIRONMENT-2]
  test('a message that is no usable call is answered in words and never thrown', () =>
    withTask(async (task) => {
      const environment = await task.create()
      const instance = task.instanceAt(task.splits[0]?.name ?? '', 1)
      await environment.reset(instance)
      for (const action of [...hostile, ...misuses(environment)]) {
        const { messages, reward, done } = await environment.step(action)
        expect(reward).toBe(0)
        expect(messages.length).toBeGreaterThan(0)
        for (const { content } of messages) {
          expect(content).not.toBe('')
          expect(content.length).toBeLessThan(10_000)
        }
        if (done) await environment.reset(instance)
      }
      await environment.close()
    }))

  test('every call of a message is answered by one tool message', () =>
    withTask(async (task) => {
      const environment = await task.create()
      await environment.reset(task.instanceAt(task.splits[0]?.name ?? '', 1))
      const call = { name: 'no_such_tool', arguments: {} }
      const { messages } = await environment.step({
        role: 'assistant',
        content: '',
        tool_calls: [call, call, call],
      })
      expect(messages.map(({ role }) => role)).toEqual(['tool', 'tool', 'tool'])
      await environment.close()
    }))

  // [ENVIRONMENT-3]
  test('an unknown instance is a permanent fault, and the session lives on', () =>
    withTask(async (task) => {
      const environment = await task.create()
      for (const id of ['', 'nowhere', 'train/-1', '../../etc/passwd', 'x'.repeat(100_000)])
        await expect(environment.reset(id)).rejects.toMatchObject({
          kind: 'unknown_instance',
          permanent: true,
        })
      await environment.reset(task.instanceAt(task.splits[0]?.name ?? '', 0))
      await environment.close()
      await environment.close()
    }))

  test('facts and messages survive a journey through JSON', () =>
    withTask(async (task) => {
      const environment = await task.create()
      const reset = await environment.reset(task.instanceAt(task.splits[0]?.name ?? '', 2))
      expect(JSON.parse(JSON.stringify(reset))).toEqual(reset)
      await environment.close()
    }))

  test('settings that it does not know are refused by name', async () => {
    await expect(definition.open({ settings: { noSuchSetting: 1 } })).rejects.toThrow(/noSuchSetting/)
  })
})

test('names are unique, and an unknown one is answered with the known ones', () => {
  const names = environments.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(findEnvironment(name).name).toBe(name)
  expect(() => findEnvironment('chess')).toThrow(names[0])
})
