/** The contract of every environment, and the rules of this one; `npx perdure env test` runs it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnvironmentDefinition } from 'perdure'
import { bring, pair, treat } from './index.ts'

/** The sum of what the expert is paid for an instance. */
async function paidToExpert(definition: EnvironmentDefinition, index: number): Promise<number> {
  const task = await definition.open({ settings: { difficulty: 'easy' } })
  const instance = task.instanceAt('test', index)
  const demonstration = await task.demonstrate?.(instance)
  const session = await task.create()
  await session.reset(instance)
  let paid = 0
  for (const action of demonstration?.actions ?? []) paid += (await session.step(action)).reward
  await session.close()
  await task.close()
  return paid
}

test('an expert is paid the prize of its task', async () => {
  for (const index of [0, 1, 2]) {
    assert.equal(await paidToExpert(bring, index), 1)
    assert.equal(await paidToExpert(treat, index), 1)
    assert.equal(await paidToExpert(pair, index), 10)
  }
})

test('who does nothing is paid nothing', async () => {
  const task = await pair.open({ settings: { difficulty: 'easy' } })
  const session = await task.create()
  await session.reset(task.instanceAt('test', 0))
  assert.equal((await session.step({ role: 'assistant', content: '' })).reward, 0)
  await session.close()
  await task.close()
})
