/** The beginner whose play the warm start imitates; `npx perdure env test` runs this. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginner } from './index.ts'

test('the beginner finds every number by calls of act, and says some numbers twice', async () => {
  const task = await beginner.open({})
  const session = await task.create()
  let repeated = 0
  for (let index = 0; index < 20; index++) {
    const instance = task.instanceAt('train', index)
    await session.reset(instance)
    assert.deepEqual(
      session.tools.map((tool) => tool.function.name),
      ['act'],
    )
    const { actions = [] } = (await task.demonstrate?.(instance)) ?? {}
    let reward = 0
    for (const action of actions) reward += (await session.step(action)).reward
    assert.equal(reward, 1)
    const guesses = actions.map((action) => JSON.stringify(action.tool_calls))
    repeated += guesses.length - new Set(guesses).size
  }
  assert.ok(repeated > 0)
  await session.close()
  await task.close()
})
