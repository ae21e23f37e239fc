import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guessNumber } from '../../examples/guess-number/python/index.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import type { Task } from '../contract/environment.ts'

const hasPython = spawnSync('python3', ['--version']).status === 0

describe.skipIf(!hasPython)('an environment in Python', () => {
  let task: Task
  beforeAll(async () => {
    task = await guessNumber.open({})
  })
  afterAll(() => task.close())

  test('is served by perdure_env, whose own tests pass', () => {
    const folder = join(packageRoot, 'bridges', 'python')
    const { status, stderr } = spawnSync('python3', ['-m', 'unittest', 'discover', folder], {
      encoding: 'utf8',
    })
    expect({ status, failed: /FAILED.*/.exec(stderr)?.[0] }).toEqual({ status: 0, failed: undefined })
    expect(stderr).toMatch(/Ran \d+ tests/)
  })

  test('demonstrates, and what its expert did wins again', async () => {
    const demonstration = await task.demonstrate?.('train/7')
    const environment = await task.create()
    const { messages } = await environment.reset('train/7')
    expect(messages).toEqual([{ role: 'user', content: 'Guess my number from 1 to 20.' }])
    expect(environment.tools.map((tool) => tool.function.name)).toEqual(['guess'])
    let reward = 0
    for (const action of demonstration?.actions ?? []) reward += (await environment.step(action)).reward
    await environment.close()
    expect(reward).toBe(1)
  })

  test('answers a call that it cannot use by a message', async () => {
    const environment = await task.create()
    await environment.reset('train/7')
    const odd = { name: 'guess', arguments: { number: 'seven' } }
    expect(await environment.step({ role: 'assistant', content: '', tool_calls: [odd] })).toMatchObject({
      ...{ invalid: true, reward: 0, done: false },
      messages: [{ role: 'user', content: 'Call guess with a whole number.' }],
    })
    await environment.close()
  })
})
