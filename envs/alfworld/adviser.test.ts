import { expect, test } from 'vitest'
import type { Demonstration } from '../contract/environment.ts'
import { alfworld } from './definition.ts'

test.each([false, true])(
  'an adviser that is always heeded plays what the expert demonstrates, with commands that work shown: %s',
  async (showAdmissible) => {
    const settings = { difficulty: 'easy', thoughts: true, showAdmissible }
    const task = await alfworld.open({ settings })
    const environment = await task.create()
    for (let index = 0; index < 20; index++) {
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
