import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AssistantMessage } from '../../messages/message.ts'
import type { Environment, Task } from '../contract/environment.ts'
import { db } from './definition.ts'
import { hostileStatements } from './hostile-statements.testing.ts'

function called(name: string, args: object): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: args as never }] }
}

function query(sql: string): AssistantMessage {
  return called('execute_sql', { query: sql })
}

let task: Task
const environments: Environment[] = []
beforeAll(async () => {
  task = await db.open({ settings: { difficulty: 'easy', deadlineSeconds: 0.3 } })
})
afterAll(async () => {
  for (const environment of environments) await environment.close()
  await task.close()
})

async function session(instance = 'train/1'): Promise<Environment> {
  const environment = await task.create()
  environments.push(environment)
  await environment.reset(instance)
  return environment
}

test.each(['easy', 'normal', 'hard'])(
  'what the expert says solves every built-in problem: %s',
  async (difficulty) => {
    const opened = await db.open({ settings: { difficulty } })
    try {
      const environment = await opened.create()
      for (let index = 0; index < 150; index++) {
        const instance = `train/${index}`
        await environment.reset(instance)
        const { actions = [] } = (await opened.demonstrate?.(instance)) ?? {}
        const results = []
        for (const action of actions) results.push(await environment.step(action))
        for (const { info } of results)
          expect(info, `${instance}: ${JSON.stringify(actions)}`).not.toHaveProperty('error')
        expect(results.at(-1), `${instance}: ${JSON.stringify(actions)}`).toMatchObject({
          reward: 1,
          done: true,
          outcome: 'completed',
        })
      }
      await environment.close()
    } finally {
      await opened.close()
    }
  },
  60_000,
)

test('without its statement, or with another answer, a problem pays nothing', async () => {
  const environment = await session()
  for (let index = 0; index < 60; index++) {
    await environment.reset(`train/${index}`)
    const { reward } = await environment.step(called('commit_final_answer', { answers: ['no such value'] }))
    expect(reward).toBe(0)
  }
})

test('facts are rows as lists of scalars, the number of changed rows, or the error', async () => {
  const environment = await session()
  expect((await environment.step(query("SELECT 1, 2.5, 'x', NULL"))).info).toEqual({
    rows: [[1, 2.5, 'x', null]],
  })
  expect((await environment.step(query('CREATE TABLE t (a TEXT)'))).info).toEqual({ rows: [], affected: 0 })
  expect((await environment.step(query("INSERT INTO t VALUES ('a'), ('b')"))).info).toEqual({
    rows: [],
    affected: 2,
  })
  expect((await environment.step(query('SELECT nothing'))).info).toEqual({
    error: "error: Unknown column 'nothing' in 'field list'",
  })
})

test('judging comes once: after the commit nothing pays', async () => {
  const environment = await session('train/0')
  await environment.step(called('commit_final_answer', { answers: ['wrong'] }))
  for (const action of (await task.demonstrate?.('train/0'))?.actions ?? [])
    expect(await environment.step(action)).toMatchObject({ reward: 0, done: true })
})

test('every reset has a database of its own', async () => {
  const environment = await session()
  await environment.step(query('CREATE TABLE mine (a TEXT)'))
  await environment.reset('train/1')
  expect((await environment.step(query('SELECT * FROM mine'))).info).toHaveProperty('error')
  const other = await session('train/2')
  await environment.step(query('CREATE TABLE mine (a TEXT)'))
  expect((await other.step(query('SELECT * FROM mine'))).info).toHaveProperty('error')
})

test.each(hostileStatements)('a hostile statement harms no other session: %s', async (_, sql) => {
  const neighbour = await session('train/3')
  const environment = await session('train/4')
  const { messages, reward, done } = await environment.step(query(sql))
  expect(reward).toBe(0)
  expect(done).toBe(false)
  for (const { content } of messages) {
    expect(content).not.toBe('')
    expect(content.length).toBeLessThan(2000)
  }
  for (const [played, instance] of [
    [neighbour, 'train/3'],
    [environment, 'train/5'],
  ] as const) {
    if (played === environment) await environment.reset(instance)
    const { actions = [] } = (await task.demonstrate?.(instance)) ?? {}
    const results = []
    for (const action of actions) results.push(await played.step(action))
    expect(results.at(-1)).toMatchObject({ reward: 1, done: true })
  }
})
