import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../messages/message.ts'
import { createEchoTask } from '../../test/support/echo-task.ts'
import { type Adviser, type Environment, EnvironmentFault, type Task } from './environment.ts'
import { type Ask, answeredBy, unasked } from './question.ts'
import { openWatched, saidBy } from './watched-task.ts'

const { definition } = createEchoTask({ stepTimeoutSeconds: 12 })
const action = { role: 'assistant' as const, content: '' }
const never = (): Promise<never> => new Promise(() => undefined)
const fail = (): never => {
  throw new TypeError('no such room')
}

let said: string[]
beforeEach(() => {
  said = []
  vi.useFakeTimers()
})
afterEach(() => vi.useRealTimers())

const reports = saidBy((line) => void said.push(line))

/** The task with some of its parts replaced. */
function open(parts: Partial<Task>, session: Partial<Environment> = {}): Promise<Task> {
  const changed = {
    ...definition,
    open: async () => {
      const task = await definition.open({})
      return { ...task, create: async () => ({ ...(await task.create()), ...session }), ...parts }
    },
  }
  return openWatched(changed, {}, reports)
}

const adviser = (parts: Partial<Adviser>): Adviser => ({
  see: () => undefined,
  advise: () => undefined,
  ...parts,
})
const began = async (session: Partial<Environment>) => {
  const environment = await (await open({}, session)).create()
  await environment.reset('train/3')
  return environment
}

/** Every call of a task and its sessions, with the parts that a test replaces by what hangs or throws. */
const calls: readonly [string, (work: () => never) => Promise<unknown>][] = [
  ['open of echo', (work) => openWatched({ ...definition, open: work }, {}, reports)],
  ['prepare of echo', async (prepare) => (await open({ prepare })).prepare?.()],
  ['create of echo', async (create) => (await open({ create })).create()],
  [
    'demonstrate of echo on train/3',
    async (demonstrate) => (await open({ demonstrate })).demonstrate?.('train/3'),
  ],
  [
    'advise of echo on train/3',
    async (advise) => (await open({ advise: () => adviser({ advise }) })).advise?.('train/3').advise(),
  ],
  [
    'see of echo on train/3',
    async (see) =>
      (await open({ advise: () => adviser({ see }) })).advise?.('train/3').see({ messages: [], info: {} }),
  ],
  [
    'reset of echo on train/3',
    async (reset) => (await (await open({}, { reset })).create()).reset('train/3'),
  ],
  ['step of echo on train/3', async (step) => (await began({ step })).step(action)],
]

describe.each(calls)('[WATCHED-1] %s', (words, call) => {
  it('that never answers is reported while it lasts and fails when its time is up', async () => {
    const outcome = call(never as () => never).catch((fault: unknown) => fault)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(said[0]).toContain(`${words} has not answered for `)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await outcome).toMatchObject({
      name: 'EnvironmentFault',
      kind: 'no_answer',
      message: expect.stringContaining(`${words} did not answer within `),
    })
  })

  it('[WATCHED-2] that throws is a fault that names it', async () => {
    await expect(call(fail)).rejects.toMatchObject({
      ...{ name: 'EnvironmentFault', kind: 'failed', message: `${words} failed: no such room` },
      cause: expect.any(TypeError),
    })
  })
})

it('a part that throws without a promise is a fault that names it too', async () => {
  const parts = { instanceAt: fail, advise: fail }
  const task = await open(parts)
  expect(() => task.instanceAt('train', 4)).toThrow(/instanceAt of echo on train 4 failed: no such room/)
  expect(() => task.advise?.('train/3')).toThrow(/advise of echo on train\/3 failed/)
  const own = await (await definition.open({})).create()
  const create = async () => Object.defineProperty({ ...own }, 'tools', { get: fail })
  const session = await (await open({ create })).create()
  await session.reset('train/3')
  expect(() => session.tools).toThrow(/tools of echo on train\/3 failed/)
})

it("a fault keeps its kind and gains the instance; one of opening keeps the environment's words", async () => {
  const lost = () => Promise.reject(new EnvironmentFault('session_lost', 'the process is gone'))
  await expect((await began({ step: lost })).step(action)).rejects.toMatchObject({
    ...{ kind: 'session_lost', message: 'step of echo on train/3 failed: the process is gone' },
  })
  const missing = () => Promise.reject(new EnvironmentFault('bad_data', '/data is empty'))
  await expect(openWatched({ ...definition, open: missing }, {})).rejects.toThrow(/^\/data is empty$/)
})

it('[WATCHED-3] sessions that hang together are reported once in ten seconds, and one that cannot be closed is reported, not thrown', async () => {
  const task = await open({}, { reset: never, close: () => Promise.reject(new Error('still in use')) })
  const sessions = await Promise.all([task.create(), task.create()])
  const resets = sessions.map((session, index) => session.reset(`train/${index}`).catch(() => undefined))
  await vi.advanceTimersByTimeAsync(12_000)
  await Promise.all(resets)
  expect(said).toEqual(['reset of echo on train/0 has not answered for 5 s; it is given up after 12 s'])
  await sessions[0]?.close()
  expect(said[1]).toBe('closing the session of echo on train/0 failed: still in use')
})

// [DECLARED-METRICS-1]
it('an observation has the last value of each declared metric, and one that is no number is refused by name', async () => {
  const metrics = { score: { better: 'higher' }, moves: { better: 'lower', otherwise: 99 } } as const
  const infos: JsonObject[] = [{ score: 3, seen: 'x' }, { moves: 1 }, { score: 'many' }]
  const step = async () => ({ messages: [], reward: 0, done: false, info: infos.shift() ?? {} })
  const task = await openWatched(
    {
      ...definition,
      metrics,
      open: async () => {
        const echo = await definition.open({})
        return { ...echo, create: async () => ({ ...(await echo.create()), step }) }
      },
    },
    {},
    reports,
  )
  const session = await task.create()
  expect((await session.reset('train/1')).metrics).toEqual({ score: 0, moves: 99 })
  expect((await session.step(action)).metrics).toEqual({ score: 3, moves: 99 })
  expect((await session.step(action)).metrics).toEqual({ score: 3, moves: 1 })
  await expect(session.step(action)).rejects.toMatchObject({
    kind: 'bad_data',
    message: 'step of echo on train/1 failed: the metric score is "many": it is a number',
  })
  expect((await session.reset('train/2')).metrics).toEqual({ score: 0, moves: 99 })
})

// [WATCHED-4]
it('a session may wait for a model longer than a step may take, and has its whole time again after the answer', async () => {
  let asked: Ask = unasked
  const { promise: said, resolve: say } = Promise.withResolvers<string>()
  const task = await openWatched(
    {
      ...definition,
      open: async () => {
        const opened = await definition.open({})
        return {
          ...opened,
          async create(ask) {
            asked = ask ?? unasked
            const step = async () => {
              await asked.judge({ messages: 'Good?' })
              return await never()
            }
            return { ...(await opened.create()), step }
          },
        }
      },
    },
    {},
    reports,
  )
  const session = await task.create(answeredBy({ judge: () => said }))
  await session.reset('train/3')
  let outcome: unknown
  const stepping = session.step(action).catch((fault: unknown) => {
    outcome = fault
  })
  await vi.advanceTimersByTimeAsync(600_000)
  expect(outcome).toBeUndefined()
  say('yes')
  await vi.advanceTimersByTimeAsync(11_999)
  expect(outcome).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1)
  await stepping
  expect(outcome).toMatchObject({ kind: 'no_answer' })
})
