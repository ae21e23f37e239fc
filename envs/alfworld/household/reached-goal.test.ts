import { describe, expect, test, vi } from 'vitest'
import type { AssistantMessage, JsonObject } from '../../../messages/message.ts'
import { Draw } from '../../draw.ts'
import type { Task } from '../../environment.ts'
import { alfworld } from '../definition.ts'
import { toolName } from '../game-session.ts'
import { errands } from '../settings.ts'
import { unseenThings } from './generator.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

const open = (settings: JsonObject = {}) =>
  alfworld.open({ settings: { difficulty: 'easy', unseenGoals: 0.2, ...settings } })

const actionOf = (command: string): AssistantMessage => {
  return { role: 'assistant', content: '', tool_calls: [{ name: toolName, arguments: { action: command } }] }
}

/** What a task says of an instance that these actions are played in. */
async function played(task: Task, instance: string, actions: readonly AssistantMessage[]) {
  const environment = await task.create()
  const { messages } = await environment.reset(instance)
  const steps = []
  for (const action of actions) steps.push(await environment.step(action))
  await environment.close()
  return {
    first: String(messages.at(-1)?.content),
    rewards: steps.map(({ reward }) => reward),
    answers: steps.map((step) => step.messages.map(({ content }) => content)),
  }
}

/** An episode that does anything that does something, mostly with things. */
async function wandering(task: Task, instance: string, seed: number): Promise<AssistantMessage[]> {
  const draw = new Draw(seed)
  const environment = await task.create()
  let { info } = await environment.reset(instance)
  const actions: AssistantMessage[] = []
  for (let turn = 0; turn < 25; turn++) {
    const commands = (info.admissible as readonly string[]).filter(
      (command) => !/^(close|examine|help|inventory|look)/.test(command),
    )
    const handling = commands.filter((command) => /^(take|put|clean|heat|cool|use)/.test(command))
    const action = actionOf(draw.one(handling.length > 0 && draw.chance(0.7) ? handling : commands))
    const step = await environment.step(action)
    if (step.done) break
    actions.push(action)
    info = step.info
  }
  await environment.close()
  return actions
}

/** What wandering through so many games reached. */
async function wanderings(task: Task, games: number) {
  const found = []
  for (let index = 0; index < games; index++) {
    const instance = task.instanceAt('train', index)
    const actions = await wandering(task, instance, index)
    const reached = await task.reached?.(instance, actions)
    if (reached !== undefined) found.push({ instance, actions, reached })
  }
  return found
}

const goalIn = (instance: string) => instance.split('/for/')[1]?.split('-') ?? []

describe('goals that an episode reached without being asked', () => {
  test('[REACHED-1] [REACHED-3] the game that is named begins as the played one but for what is asked, and the same actions win it with the last', async () => {
    const task = await open()
    const found = await wanderings(task, 240)
    expect(found.length).toBeGreaterThan(120)
    for (const { instance, actions, reached } of found) {
      const used = actions.slice(0, reached.actions)
      const [here, there] = [await played(task, instance, used), await played(task, reached.instance, used)]
      expect(there.first.split('Task: ')[0]).toBe(here.first.split('Task: ')[0])
      expect(there.first).not.toBe(here.first)
      expect(there.answers).toEqual(here.answers)
      expect(there.rewards).toEqual(used.map((_, step) => (step + 1 === used.length ? 1 : 0)))
    }
    expect(new Set(found.map(({ reached }) => goalIn(reached.instance)[0]))).toEqual(new Set(errands))
  })

  test('[REACHED-2] nothing is named that the split keeps for another, nor an errand that the settings leave out', async () => {
    const found = await wanderings(await open({ tasks: ['place', 'cool'] }), 120)
    expect(found.length).toBeGreaterThan(40)
    for (const { reached } of found) {
      const [errand = '', thing = ''] = goalIn(reached.instance)
      expect(['place', 'cool']).toContain(errand)
      expect([...unseenThings(errand as 'place', 0.2)]).not.toContain(thing)
    }
  })

  test.each([
    [
      'train/6',
      'go to drawer 1; open drawer 1; take fork 1 from drawer 1; go to cupboard 1; open cupboard 1; put fork 1 at cupboard 1; look',
      'place-fork-cupboard',
      6,
    ],
    [
      'train/4',
      'go to table 1; take plate 3 from table 1; go to fridge 1; cool plate 3 with fridge 1; go to table 1; put plate 3 at table 1',
      'cool-plate-table',
      6,
    ],
    ['train/7', 'go to shelf 1; take book 1 from shelf 1; go to table 1; use lamp 1', 'light-book-table', 4],
  ])('in %s an episode that did something else reached it: %s', async (instance, commands, goal, actions) => {
    const task = await open()
    expect(await task.reached?.(instance, commands.split('; ').map(actionOf))).toEqual({
      instance: `${instance}/for/${goal}`,
      actions,
    })
  })

  test('what was there from the first is not reached, and commands that do nothing reach nothing', async () => {
    const task = await open()
    const fork = 'go to drawer 1; open drawer 1; take fork 1 from drawer 1; put fork 1 at drawer 1'
    expect(await task.reached?.('train/6', fork.split('; ').map(actionOf))).toBeUndefined()
    expect(await task.reached?.('train/6', ['put fork 1 at cupboard 1', 'fly'].map(actionOf))).toBeUndefined()
    expect(
      await task.reached?.('train/6', [{ role: 'assistant', content: 'put fork 1 at cupboard 1' }]),
    ).toBeUndefined()
    expect(await task.reached?.('train/6', [])).toBeUndefined()
  })

  test('an episode of another goal is looked at as one of its home', async () => {
    const task = await open()
    const actions =
      'go to drawer 1; open drawer 1; take coin 1 from drawer 1; go to cupboard 1; open cupboard 1; put coin 1 at cupboard 1'
    expect(
      await task.reached?.('train/6/for/place-fork-cupboard', actions.split('; ').map(actionOf)),
    ).toEqual({
      instance: 'train/6/for/place-coin-cupboard',
      actions: 6,
    })
  })

  test.each([
    'train/6/for/place-fork',
    'train/6/for/eat-fork-cupboard',
    'train/6/for/place-dragon-cupboard',
    'train/6/for/place-lamp-cupboard',
    'train/x/for/place-fork-cupboard',
    'train/6/for/place-pillow-cupboard',
    'train/6/for/place-fork-bed',
  ])('any other id is an unknown instance: %s', async (id) => {
    const environment = await (await open()).create()
    await expect(environment.reset(id)).rejects.toMatchObject({ kind: 'unknown_instance' })
  })
})
