import { expect, test } from 'vitest'
import type { AssistantMessage } from '../../messages/message.ts'
import type { Environment } from '../contract/environment.ts'
import { alfworld } from './definition.ts'
import { actionOf } from './demonstration.ts'

async function started(
  settings: Record<string, boolean | string>,
  instance = 'test/1',
): Promise<Environment> {
  const task = await alfworld.open({ settings })
  const environment = await task.create()
  await environment.reset(instance)
  return environment
}

function calls(...tool_calls: unknown[]): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: tool_calls as never }
}

test('a game begins with one system message and one user message that holds the task', async () => {
  const environment = await started({})
  const { messages, info } = await environment.reset('test/1')
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
  expect(messages[1]?.content).toBe(info.observation)
  expect(messages[1]?.content).toMatch(/^You see .*\nTask: /)
})

test('the tool is named and shaped as AgentBench has it', async () => {
  const { tools } = await started({})
  expect(tools.map(({ function: { name, parameters } }) => [name, parameters.required])).toEqual([
    ['take_action', ['action']],
  ])
})

test('commands reach the game as written: case matters', async () => {
  const environment = await started({})
  const { info: lower } = await environment.step(actionOf('inventory'))
  const { info: upper } = await environment.step(actionOf('INVENTORY'))
  expect(lower.observation).toBe('You carry nothing.')
  expect(upper.observation).toBe('Nothing happens.')
})

test('only what cannot be played is marked invalid', async () => {
  const environment = await started({})
  const call = { name: 'take_action', arguments: { action: 'look' } }
  for (const action of [calls(), calls({ name: 'look' }), calls({ ...call, arguments: {} }), calls(null, 3)])
    expect(await environment.step(action)).toMatchObject({ invalid: true })
  for (const action of [calls(call), calls(null, call), actionOf('dance'), actionOf('')])
    expect(await environment.step(action)).not.toHaveProperty('invalid')
})

test('commands that work now are shown where asked for, and stay out of the facts', async () => {
  const environment = await started({ showAdmissible: true })
  const { messages, info } = await environment.step(actionOf('look'))
  expect(messages[0]?.content).toMatch(/\nYou can: .*go to .*\.$/)
  expect(info.observation).not.toContain('You can')
})

test('only winning pays, once, and what follows changes nothing', async () => {
  const task = await alfworld.open({})
  const environment = await task.create()
  await environment.reset('test/3')
  const actions = (await task.demonstrate?.('test/3'))?.actions ?? []
  for (const action of actions.slice(0, -1))
    expect(await environment.step(action)).toMatchObject({ reward: 0, done: false })
  const last = actions.at(-1)
  if (last === undefined) throw new Error('no demonstration')
  expect(await environment.step(last)).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
  expect(await environment.step(last)).toMatchObject({ reward: 0, done: true, outcome: 'completed' })
})

test('each command that a won game took costs what the setting says', async () => {
  const task = await alfworld.open({ settings: { commandCost: 0.04 } })
  const environment = await task.create()
  await environment.reset('test/3')
  await environment.step(actionOf('dance'))
  const actions = (await task.demonstrate?.('test/3'))?.actions ?? []
  const rewards: number[] = []
  for (const action of actions) rewards.push((await environment.step(action)).reward)
  expect(rewards.slice(0, -1).every((reward) => reward === 0)).toBe(true)
  expect(rewards.at(-1)).toBeCloseTo(1 - 0.04 * (actions.length + 1), 12)
})

test('the whole instruction names the commands of the game', async () => {
  const task = await alfworld.open({ settings: { prompt: 'full' } })
  const { messages } = await (await task.create()).reset('test/1')
  expect(messages[0]?.content).toContain('put THING at PLACE')
  expect(messages[0]?.content).not.toContain('{')
})

test('walkthroughs are refused where games have none', async () => {
  await expect(alfworld.open({ settings: { demonstrations: 'walkthrough' } })).rejects.toMatchObject({
    kind: 'bad_settings',
  })
})
