import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { sharedData } from '../../test/support/shared-data.ts'
import type { Demonstration, Task } from '../contract/environment.ts'
import { alfworld } from './definition.ts'
import { actionOf } from './demonstration.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

const data = sharedData('alfworld')
const missing = existsSync(data) ? false : `no official games in ${data}`

async function turnsOf(task: Task, split: string, count: number): Promise<(number | undefined)[]> {
  const size = task.splits.find(({ name }) => name === split)?.size ?? 0
  const stride = Math.max(1, Math.floor(size / count))
  const turns: (number | undefined)[] = []
  for (let index = 0; index < count; index++)
    turns.push((await task.demonstrate?.(task.instanceAt(split, index * stride)))?.actions.length)
  return turns
}

test('an action plays its command through the tool', () => {
  expect(actionOf('look').tool_calls).toEqual([{ name: 'take_action', arguments: { action: 'look' } }])
})

test('a slip fails, changes nothing, is marked as a mistake, and the expert continues as without it', async () => {
  const played = async (slips: number) => {
    const task = await alfworld.open({ settings: { difficulty: 'easy', slips } })
    return Promise.all(
      Array.from({ length: 12 }, (_, index) => task.demonstrate?.(task.instanceAt('train', index))),
    )
  }
  const [without, withSlips] = [await played(0), await played(0.5)]
  const task = await alfworld.open({ settings: { difficulty: 'easy' } })
  let slips = 0
  for (const [index, demonstration] of withSlips.entries()) {
    const { instance, actions = [], mistakes = [] } = demonstration ?? {}
    expect(actions.filter((_, position) => !mistakes.includes(position))).toEqual(without[index]?.actions)
    const environment = await task.create()
    await environment.reset(instance ?? '')
    for (const [position, action] of actions.entries()) {
      const { messages } = await environment.step(action)
      if (mistakes.includes(position)) expect(messages[0]?.content).toMatch(/^Nothing happens/)
    }
    await environment.close()
    slips += mistakes.length
  }
  expect(slips).toBeGreaterThan(8)
})

test('strays work, are marked as mistakes, and the game is won all the same; takes of a game differ', async () => {
  const task = await alfworld.open({ settings: { difficulty: 'easy', strays: 0.3 } })
  let strays = 0
  const distinct = new Set<string>()
  for (let index = 0; index < 12; index++) {
    for (const take of [0, 1]) {
      const demonstration = await task.demonstrate?.(task.instanceAt('train', index), take)
      if (demonstration === undefined) continue
      const { instance, actions, mistakes = [] } = demonstration
      distinct.add(JSON.stringify(demonstration))
      expect(await task.demonstrate?.(instance, take)).toEqual(demonstration)
      const environment = await task.create()
      await environment.reset(instance)
      for (const [position, action] of actions.entries()) {
        const { messages, reward } = await environment.step(action)
        if (mistakes.includes(position)) expect(messages[0]?.content).not.toMatch(/^Nothing happens/)
        expect(reward).toBe(position === actions.length - 1 ? 1 : 0)
      }
      await environment.close()
      strays += mistakes.length
    }
  }
  expect(strays).toBeGreaterThan(24)
  expect(distinct.size).toBeGreaterThan(20)
})

describe.skipIf(missing)(`official games${missing ? ` (skipped: ${missing})` : ''}`, () => {
  test('the expert explores and wins at least 38 of 40, in few turns', async () => {
    const task = await alfworld.open({ dataDir: data, settings: { demonstrationTurns: 50 } })
    const turns = await turnsOf(task, 'train', 40)
    const won = turns.filter((count) => count !== undefined)
    expect(won.length).toBeGreaterThanOrEqual(38)
    expect(won.reduce((sum, count) => sum + count, 0) / won.length).toBeLessThan(12)
  })

  let opened: Promise<Task>
  beforeAll(() => {
    opened = alfworld.open({ dataDir: data, settings: { demonstrations: 'walkthrough', prompt: 'full' } })
  })

  test('walkthroughs know where things are: they win, and faster', async () => {
    const task = await opened
    for (const count of await turnsOf(task, 'valid_seen', 10)) expect(count).toBeLessThan(20)
  })

  test('an agent sees the official texts and nothing else, and their commands are the tool’s', async () => {
    const task = await opened
    const environment = await task.create()
    const { messages, info } = await environment.reset(task.instanceAt('valid_seen', 0))
    expect(messages[0]?.content).toContain('move THING to PLACE')
    expect(messages[1]?.content).toBe(info.observation)
    expect(messages[1]?.content).toMatch(/Your task is to: /)
  })
})

test.each([false, true])(
  'an adviser that is always heeded plays what the expert demonstrates, with commands that work shown: %s',
  async (showAdmissible) => {
    const settings = { difficulty: 'easy', thoughts: true, showAdmissible }
    const task = await alfworld.open({ settings })
    const environment = await task.create()
    for (let index = 0; index < 8; index++) {
      const instance = task.instanceAt('train', index)
      const adviser = task.advise?.(instance)
      await adviser?.see(await environment.reset(instance))
      const actions: Demonstration['actions'][number][] = []
      for (let done = false; !done; ) {
        const action = await adviser?.advise()
        if (action === undefined) break
        const after = await environment.step(action)
        await adviser?.see(after, action)
        actions.push(action)
        done = after.done
      }
      expect(actions).toEqual((await task.demonstrate?.(instance))?.actions)
    }
    await environment.close()
  },
)

test('an adviser knows the way on from commands of others, and from messages that played none', async () => {
  const task = await alfworld.open({ settings: { difficulty: 'easy' } })
  const environment = await task.create()
  const instance = task.instanceAt('train', 0)
  const adviser = task.advise?.(instance)
  await adviser?.see(await environment.reset(instance))
  const others = ['inventory', 'take key 7 from shelf 9', 'look'].map((command) => ({
    ...{ role: 'assistant' as const, content: '' },
    tool_calls: [{ name: 'take_action', arguments: { action: command } }],
  }))
  const silent = { role: 'assistant' as const, content: 'hm' }
  for (const action of [...others, silent]) await adviser?.see(await environment.step(action), action)
  let won = false
  for (let turn = 0; turn < 40 && !won; turn++) {
    const action = await adviser?.advise()
    if (action === undefined) break
    const after = await environment.step(action)
    await adviser?.see(after, action)
    won = after.done
  }
  expect(won).toBe(true)
  await environment.close()
})
