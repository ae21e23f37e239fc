import { afterAll, expect, it } from 'vitest'
import { type EnvironmentDefinition, EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { environments } from '../../envs/registry.ts'
import { serveSockets } from '../../envs/remote/base/socket-server.testing.ts'
import { remoteEnvironment } from '../../envs/remote/remote-environment.ts'
import { guessNumber } from '../../examples/guess-number/index.ts'
import { checkEnvironment, type EnvironmentCheck } from './environment-check.ts'

function failed(checks: readonly EnvironmentCheck[]): readonly string[] {
  return checks.filter(({ ok }) => !ok).map(({ item, detail }) => `${item}: ${detail}`)
}

it.each([guessNumber, ...environments.filter(({ name }) => ['alfworld', 'db', 'webshop'].includes(name))])(
  '$name keeps every item',
  async ({ open }: EnvironmentDefinition) => {
    const checks = await checkEnvironment({ open: () => open({}) })
    expect(failed(checks)).toEqual([])
    expect(checks).toHaveLength(9)
  },
  120_000,
)

// [EACH-INSTANCE-1]
it('a task that says what doing nothing is has an item for each instance: its solution earns 1, doing nothing 0', async () => {
  const idle = [{ role: 'assistant', content: '' }] as const
  const checksOf = async (change: Partial<Task>) => {
    const task = await guessNumber.open({})
    const open = async (): Promise<Task> => ({
      ...task,
      ...{ splits: [{ name: 'test', size: 2 }], doNothing: idle, ...change },
    })
    return await checkEnvironment({ open, only: 'solution' })
  }
  expect((await checksOf({})).map(({ item, ok }) => [item.slice(0, 6), ok])).toEqual([
    ['test/0', true],
    ['test/1', true],
  ])
  const unsolved = async (instance: string) => ({ instance, actions: idle })
  expect(failed(await checksOf({ demonstrate: unsolved }))[0]).toMatch(/the solution earned 0/)
})

/** A game that breaks one promise. */
const broken: readonly (readonly [item: string, words: RegExp, change: (task: Task) => Partial<Task>])[] = [
  [
    'gives the same answers to the same actions',
    /played twice by one session/,
    (task) => ({
      create: async () => {
        const session = await task.create()
        let resets = 0
        const reset = async (instance: string) => {
          const first = await session.reset(instance)
          return {
            ...first,
            messages: [...first.messages, { role: 'user', content: `${++resets}` } as const],
          }
        }
        return { ...wrapped(session), reset }
      },
    }),
  ],
  [
    'answers unusable calls as messages',
    /was answered by a fault: no such tool/,
    (task) => ({
      create: async () => {
        const session = await task.create()
        return {
          ...wrapped(session),
          step: async (action) => {
            if (action.tool_calls?.[0]?.name === 'no_such_tool')
              throw new EnvironmentFault('session_lost', 'no such tool')
            return session.step(action)
          },
        }
      },
    }),
  ],
  [
    'pays nothing for doing nothing',
    /turn 0 of .* was paid 1/,
    (task) => ({
      create: async () => {
        const session = await task.create()
        return {
          ...wrapped(session),
          step: async (action) => ({ ...(await session.step(action)), reward: 1 }),
        }
      },
    }),
  ],
  [
    'has no instance in two splits',
    /the first 6 instances of test begin and answer as some of train do/,
    (task) => ({ instanceAt: (_, index) => task.instanceAt('train', index) }),
  ],
  [
    'refuses an unknown instance',
    /the instance "" gave an episode/,
    (task) => ({
      create: async () => {
        const session = await task.create()
        const reset = (instance: string) =>
          session.reset(/^(train|test)\/\d+$/.test(instance) ? instance : 'train/0')
        return { ...wrapped(session), reset }
      },
    }),
  ],
  [
    'frees its sessions',
    /no place/,
    (task) => {
      let open = 0
      return {
        create: async () => {
          if (++open > 8) throw new EnvironmentFault('backend', 'no place')
          return { ...wrapped(await task.create()), close: async () => undefined }
        },
      }
    },
  ],
]

function wrapped(session: Awaited<ReturnType<Task['create']>>): Awaited<ReturnType<Task['create']>> {
  return {
    get tools() {
      return session.tools
    },
    reset: (instance) => session.reset(instance),
    step: (action) => session.step(action),
    close: () => session.close(),
  }
}

it.each(broken)('an environment that breaks "%s" is found out', async (item, words, change) => {
  const task = await guessNumber.open({})
  const checks = await checkEnvironment({ open: async () => ({ ...task, ...change(task) }), only: item })
  expect(checks).toHaveLength(1)
  expect(failed(checks)[0]).toMatch(words)
})

it('an environment that does not open is one item', async () => {
  const checks = await checkEnvironment({ open: () => Promise.reject(new Error('not there')) })
  expect(checks).toEqual([{ item: 'opens', ok: false, detail: 'not there' }])
})

const action = { type: 'object', properties: { number: { type: 'integer' } } }
const server = await serveSockets({
  onRequest: (_, response) => response.end(JSON.stringify({ action })),
  onMessage: (_, socket) =>
    socket.send('{"type":"observation","data":{"observation":{"text":"go"},"reward":0,"done":false}}'),
})
afterAll(() => server.close())

it('a server that is killed or freezes is noticed in time, and an environment that hides it is found out', async () => {
  const { port } = new URL(server.url)
  const at = (reached: number | string, settings: object) => {
    const address = `openenv+http://127.0.0.1:${reached}`
    return remoteEnvironment(address, 'it').open({ settings: { ...settings, stepSeconds: 1 } })
  }
  const reached = { host: '127.0.0.1', port: Number(port), openAt: at }
  const open = () => at(port, {})
  const checks = await checkEnvironment({ open, server: reached, only: 'server' })
  expect(failed(checks)).toEqual([])
  expect(checks).toHaveLength(2)
  const hiding = { ...reached, openAt: () => guessNumber.open({}) }
  const hidden = await checkEnvironment({ open, server: hiding, only: 'killed' })
  expect(failed(hidden)[0]).toMatch(/it answered as if nothing had happened/)
})
