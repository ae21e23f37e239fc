/** The contract of every environment; `npx perdure env test` runs it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AssistantMessage } from 'perdure'
import { guessNumber } from './index.ts'

const task = await guessNumber.open({})
after(() => task.close())
const instances = Array.from({ length: 20 }, (_, index) => task.instanceAt('train', index))

/** Plays actions and adds up what they were paid. */
async function play(instance: string, actions: readonly AssistantMessage[]) {
  const session = await task.create()
  const seen: unknown[] = [await session.reset(instance)]
  let reward = 0
  for (const action of actions) {
    const step = await session.step(action)
    seen.push(step)
    reward += step.reward
  }
  await session.close()
  return { seen, reward }
}

test('the expert wins, and what it did is paid again in full', async () => {
  for (const instance of instances) {
    const demonstration = await task.demonstrate?.(instance)
    assert.ok(demonstration, `the expert lost ${instance}`)
    assert.equal((await play(instance, demonstration.actions)).reward, 1)
  }
})

test('who does nothing is paid nothing', async () => {
  const nothing: AssistantMessage = { role: 'assistant', content: '' }
  for (const instance of instances) assert.equal((await play(instance, [nothing, nothing])).reward, 0)
})

test('the same instance and actions are answered alike', async () => {
  for (const instance of instances) {
    const { actions = [] } = (await task.demonstrate?.(instance)) ?? {}
    assert.deepEqual(await play(instance, actions), await play(instance, actions))
  }
})

test('training and testing share no instance', () => {
  for (const index of instances.keys()) assert.ok(!instances.includes(task.instanceAt('test', index)))
})
