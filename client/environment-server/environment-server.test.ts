import { afterEach, describe, expect, it } from 'vitest'
import {
  type Environment,
  type EnvironmentDefinition,
  EnvironmentFault,
  type StepResult,
  type Task,
} from '../../envs/contract/environment.ts'
import { environments } from '../../envs/registry.ts'
import { serveSockets } from '../../envs/remote/base/socket-server.testing.ts'
import { remoteEnvironment, remoteEnvironments } from '../../envs/remote/remote-environment.ts'
import { guessNumber } from '../../examples/guess-number/index.ts'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { Controller } from './controller.ts'
import { type EnvironmentServer, serveEnvironments } from './environment-server.ts'

/** Episodes of each task; a thousand of all were played once. */
const episodes = Number(process.env.PERDURE_SERVED_EPISODES ?? 4)

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function opened({ open }: EnvironmentDefinition): Promise<Task> {
  const task = await open({})
  closing.push(() => task.close())
  return task
}

async function served(
  name: string,
  task: Task,
  { places = 8, size = 1000, turnLimit = 1000 } = {},
): Promise<EnvironmentServer> {
  const split = task.splits[0]?.name ?? ''
  const tasks = [{ name, task, split, size, turnLimit }]
  const server = await serveEnvironments({ tasks, places, port: 0 })
  closing.push(() => server.close())
  return server
}

async function reached(server: EnvironmentServer, name: string, settings = {}): Promise<Task> {
  const text = `agentrl+${server.url}#${name}`
  const task = await remoteEnvironment(text, 'it').open({
    settings: { splits: { all: '0-999' }, ...settings },
  })
  closing.push(() => task.close())
  return task
}

/** Actions of an agent that does not know the task: words, unknown tools, odd arguments. */
const clumsy: readonly AssistantMessage[] = [
  { role: 'assistant', content: 'Hm.' },
  { role: 'assistant', content: '', tool_calls: [{ name: 'no_such_tool', arguments: { a: 1 } }] },
  {
    role: 'assistant',
    content: 'Two.',
    tool_calls: [
      { name: 'take_action', arguments: { action: 86 } },
      { name: 'x'.repeat(60), arguments: {}, exactArguments: '{"n":86.0}' },
    ],
  },
]

async function played(session: Environment, instance: string, actions: readonly AssistantMessage[]) {
  const { messages } = await session.reset(instance)
  const seen: unknown[] = [messages, session.tools]
  for (const action of actions) {
    const { messages, reward, done, outcome }: StepResult = await session.step(action)
    seen.push({ messages, reward, done, outcome })
    if (done) break
  }
  return seen
}

describe('a task that is served', () => {
  const names = ['alfworld', 'db', 'kg', 'os', 'webshop']
  const own = environments.filter(({ name }) => names.includes(name))

  // [AGENTRL-WIRE-2] [AGENTRL-TASK-1]
  it.each([...own, guessNumber])(
    'gives the same messages, rewards and endings as direct play: $name',
    async (definition) => {
      const task = await opened(definition)
      const far = await reached(await served(definition.name, task), definition.name)
      const [near, remote] = [await task.create(), await far.create()]
      const split = task.splits[0]?.name ?? ''
      let endings = 0
      for (let index = 0; index < episodes; index++) {
        const instance = task.instanceAt(split, index)
        const shown = (await task.demonstrate?.(instance))?.actions ?? []
        const actions =
          index % 2 === 0 ? [...clumsy, ...shown] : [...shown.slice(0, 1), ...clumsy, ...shown.slice(1)]
        const direct = await played(near, instance, actions)
        expect(await played(remote, `all/${index}`, actions)).toEqual(direct)
        endings += Number((direct.at(-1) as StepResult).done)
      }
      expect(endings).toBeGreaterThan(0)
      await near.close()
      await remote.close()
    },
    60_000 + episodes * 5000,
  )

  // [AGENTRL-WIRE-1] [AGENTRL-2]
  it('answers a call that cannot be sent, and the episode continues', async () => {
    const task = await reached(await served('g', await opened(guessNumber)), 'g')
    const session = await task.create()
    await session.reset('all/0')
    for (const call of [
      null,
      7,
      {},
      { name: '' },
      { name: 'guess', arguments: null },
      { name: 'guess', arguments: [] },
    ])
      expect(
        await session.step({ role: 'assistant', content: '', tool_calls: [call as never] }),
      ).toMatchObject({
        invalid: true,
        reward: 0,
        done: false,
      })
    const guess = { name: 'guess', arguments: { number: 0 } }
    expect((await session.step({ role: 'assistant', content: '', tool_calls: [guess] })).messages).toEqual([
      { role: 'tool', name: 'guess', content: 'higher' },
    ])
    await session.close()
  })

  // [AGENTRL-3]
  it('has no session when nothing is played', async () => {
    const server = await served('g', await opened(guessNumber))
    const sessions = async () => (await fetch(`${server.url}/list_sessions`)).json()
    const session = await (await reached(server, 'g')).create()
    await session.reset('all/3')
    expect(Object.values((await sessions()) as object)).toEqual([{ name: 'g', index: 3 }])
    await session.close()
    expect(await sessions()).toEqual({})
  })

  // [CONTROLLER-SESSION-2]
  it('is over after the turns of its task, and has what it earned', async () => {
    const task = await reached(await served('g', await opened(guessNumber), { turnLimit: 2 }), 'g')
    const session = await task.create()
    await session.reset('all/0')
    const words: AssistantMessage = { role: 'assistant', content: 'Hm.' }
    expect(await session.step(words)).toMatchObject({ done: false })
    expect(await session.step(words)).toMatchObject({ done: true, outcome: 'task_limit', reward: 0 })
    await session.close()
  })

  // [CONTROLLER-1]
  it('waits for a place when all are taken', async () => {
    const task = await reached(await served('g', await opened(guessNumber), { places: 1 }), 'g')
    const [first, second] = [await task.create(), await task.create()]
    await first.reset('all/0')
    const waiting = second.reset('all/1')
    await first.close()
    expect((await waiting).messages).toHaveLength(1)
    await second.close()
  })

  // [AGENTRL-1] [CONTROLLER-SESSION-1]
  it('whose environment fails is a lost session without a reward', async () => {
    const task = await opened(guessNumber)
    const failing: Task = {
      ...task,
      async create() {
        const session = await task.create()
        const step = () => Promise.reject(new EnvironmentFault('session_lost', 'gone'))
        return { tools: [], reset: (id) => session.reset(id), step, close: () => session.close() }
      },
    }
    const session = await (await reached(await served('g', failing), 'g')).create()
    await session.reset('all/0')
    await expect(session.step(clumsy[0] as AssistantMessage)).rejects.toMatchObject({
      kind: 'session_lost',
      message: expect.stringContaining('ended there as "task error"'),
    })
  })

  it('is named where another is asked for, and listed', async () => {
    const server = await served('g', await opened(guessNumber))
    expect((await remoteEnvironments(`agentrl+${server.url}`)).map(({ name }) => name)).toEqual(['g'])
    await expect(reached(server, 'maze')).rejects.toThrow(
      /#maze": expected one of #g: the server offers no "maze"/,
    )
    await expect(reached(server, 'g', { splits: { all: '0-1000' } })).rejects.toThrow(
      /has the positions 0-999/,
    )
    const divided = await remoteEnvironment(`agentrl+${server.url}`, 'g').open({})
    expect(divided.splits).toEqual([
      { name: 'train', size: 800 },
      { name: 'test', size: 200 },
    ])
  })
})

// [AGENTRL-1]
it.each([
  ['a server error', 500, 'broken', /\/interact answered with status 500: broken/],
  ['no JSON', 200, '{"reward": NaN}', /what is no JSON/],
  ['another form', 200, '{}', /a form that is not AgentRL's/],
  [
    'a reward that is a text',
    200,
    '{"finish":false,"status":"running","reward":"1","messages":[]}',
    /paid the reward 1/,
  ],
  ['a reward that is missing', 200, '{"finish":true,"status":"completed"}', /paid the reward undefined/],
])('%s in place of an answer is a fault', async (_, status, text, words) => {
  const server = await serveSockets({
    onRequest({ url = '' }, response) {
      if (url.includes('get_indices')) return response.end('[0]')
      if (url.includes('interact')) return response.writeHead(status).end(text)
      response.writeHead(200, { session_id: '7' })
      return response.end(
        '{"messages":[{"role":"user","content":"go"}],"tools":[],"finish":false,"status":"running","reward":0}',
      )
    },
  })
  closing.push(() => server.close())
  const task = await remoteEnvironment(`agentrl+${server.url}`, 'g').open({})
  const session = await task.create()
  await session.reset(task.instanceAt(task.splits[0]?.name ?? '', 0))
  await expect(session.step(clumsy[0] as AssistantMessage)).rejects.toThrow(words)
})

// [CONTROLLER-2]
it('a worker without a heartbeat for 11 s offers nothing', () =>
  withClock(simulatedClock(), async () => {
    const clock = simulatedClock()
    await withClock(clock, async () => {
      const controller = new Controller({ tasks: [], places: 1 })
      controller.hear({ name: 'w', address: 'http://127.0.0.1:1/api', concurrency: 2, indices: [0, 'a'] })
      await clock.advance(10_900)
      expect(controller.indices('w')).toEqual([0, 'a'])
      await clock.advance(200)
      expect(() => controller.indices('w')).toThrow(/there is no task "w"/)
      expect(controller.workers()).toEqual({})
      await controller.close()
    })
  }))

// [CONTROLLER-3]
it('a session that no one asks is closed after half an hour', async () => {
  const task = await opened(guessNumber)
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const tasks = [{ name: 'g', task, split: 'train', size: 10, turnLimit: 5 }]
    const controller = new Controller({ tasks, places: 1 })
    await controller.start('g', 0, new AbortController().signal)
    await clock.advance(29 * 60_000)
    expect(Object.keys(controller.sessions())).toHaveLength(1)
    await clock.advance(2 * 60_000)
    expect(controller.sessions()).toEqual({})
    await controller.close()
  })
})

// [ENVIRONMENT-SERVER-1]
it('listens on loopback alone without a token, and answers no page of another site', async () => {
  const open = serveEnvironments({ tasks: [], places: 1, port: 0, host: '0.0.0.0' })
  await expect(open).rejects.toThrow(/PERDURE_ENV_TOKEN/)
  const server = await serveEnvironments({ tasks: [], places: 1, port: 0 })
  closing.push(() => server.close())
  const asked = await fetch(`${server.url}/list_workers`, { headers: { origin: 'http://elsewhere' } })
  expect(asked.status).toBe(403)
})
