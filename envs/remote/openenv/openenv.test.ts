import type { ServerResponse } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import type { AssistantMessage } from '../../../messages/message.ts'
import type { Environment, Task } from '../../contract/environment.ts'
import { type Serving, type SocketServer, serveSockets } from '../base/socket-server.testing.ts'
import { remoteEnvironment, remoteEnvironments } from '../remote-environment.ts'
import { playThrough } from './play-through.testing.ts'
import { plays } from './plays.testing.ts'
import { replayServer } from './recorded-server.testing.ts'

let server: SocketServer | undefined
let task: Task | undefined
let session: Environment | undefined
afterEach(async () => {
  await session?.close()
  await task?.close()
  await server?.close()
})

// openenv 0.10.0 answered so.
it.each(plays)('the recorded server of $server is played to its end', async (play) => {
  server = await replayServer(play.server)
  await playThrough(play, server.url)
})

const act = { type: 'object', properties: { number: { type: 'integer' }, metadata: { type: 'object' } } }
const page =
  (said: unknown): NonNullable<Serving['onRequest']> =>
  (_, response) =>
    response.end(JSON.stringify(said))
const observed = (text: string, reward: unknown = null, done = false) =>
  JSON.stringify({ type: 'observation', data: { observation: { text }, reward, done } })
const failed = (code: string) => JSON.stringify({ type: 'error', data: { message: 'so', code } })
const call: AssistantMessage = {
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'act', arguments: { number: 1 } }],
}

interface Answers extends Serving {
  readonly reset?: string
  readonly step?: string
}

/** A server that answers with these words; a step without words is never answered. */
async function opened(
  { reset = observed('go'), step, ...serving }: Answers = {},
  settings = {},
): Promise<Task> {
  server = await serveSockets({
    onRequest: page({ action: act }),
    onMessage(text, socket) {
      const said = text.includes('"reset"') ? reset : step
      if (said !== undefined) socket.send(said)
    },
    ...serving,
  })
  task = await remoteEnvironment(`openenv+${server.url}`, 'it').open({ settings })
  return task
}

async function begun(answers: Answers, settings = {}): Promise<Environment> {
  session = await (await opened(answers, settings)).create()
  await session.reset('train/0')
  return session
}

// [OPENENV-1]
it.each([
  ['a failure', { step: failed('EXECUTION_ERROR') }, /step failed there \(EXECUTION_ERROR: so\)/],
  ['another form', { step: '{"type":"observation"}' }, /a form that is not OpenEnv's/],
  ['no JSON', { step: '{"reward": NaN}' }, /a form that is not OpenEnv's/],
  ['silence', {}, /did not answer step within 1 s/],
])('%s in place of an answer is a lost session', async (_, answers, words) => {
  const playing = await begun(answers, { stepSeconds: 1 })
  const lost = { kind: 'session_lost', message: expect.stringMatching(words) }
  await expect(playing.step(call)).rejects.toMatchObject(lost)
  await expect(playing.step(call)).rejects.toMatchObject({ kind: 'session_lost' })
})

it.each([
  ['missing at the end', observed('x', null, true), /paid the reward null/],
  ['a text', observed('x', '1'), /paid the reward 1:/],
  ['left out', '{"type":"observation","data":{"observation":{},"done":false}}', /paid the reward undefined/],
  ['too large', observed('x', 1e7), /paid the reward 10000000/],
])('a reward that is %s is a fault', async (_, step, words) => {
  const playing = await begun({ step })
  await expect(playing.step(call)).rejects.toMatchObject({
    kind: 'bad_data',
    message: expect.stringMatching(words),
  })
})

it('a step may leave its reward open, and true is 1', async () => {
  const playing = await begun({ step: observed('x') })
  expect(await playing.step(call)).toMatchObject({ reward: 0, done: false })
  await server?.close()
  const other = await begun({ step: observed('x', true, true) })
  expect(await other.step(call)).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
})

// [OPENENV-2]
it('an action that the server finds invalid is answered in words, and the session continues', async () => {
  const playing = await begun({ step: failed('VALIDATION_ERROR') })
  for (let turn = 0; turn < 2; turn++)
    expect(await playing.step(call)).toMatchObject({
      messages: [{ role: 'tool', name: 'act', content: 'act: so' }],
      invalid: true,
      reward: 0,
    })
})

it('an action that is none never reaches the server', async () => {
  let steps = 0
  const playing = await begun({
    onMessage(text, socket) {
      if (text.includes('"step"')) steps++
      socket.send(observed('go'))
    },
  })
  let deep: unknown = {}
  for (let level = 0; level < 100_000; level++) deep = { deep }
  const given = [undefined, null, 3, [], 'text', deep].map((value) => ({ name: 'act', arguments: value }))
  for (const called of [null, 7, {}, { name: 'constructor', arguments: {} }, ...given])
    expect(await playing.step({ ...call, tool_calls: [called as never] })).toMatchObject({ invalid: true })
  expect(steps).toBe(0)
})

// [OPENENV-TASK-1]
it('an episode is one connection, which closes with it', async () => {
  const playing = await begun({ step: observed('x', 1, true) })
  expect(server?.open()).toBe(1)
  await playing.step(call)
  await playing.reset('train/1')
  await playing.close()
  await playing.close()
  await expect.poll(() => server?.open()).toBe(0)
})

it('a full server is waited for', async () => {
  let connections = 0
  const answers: Answers = {
    onConnect(socket) {
      // The first is that of the check, the next two find it full.
      if ([2, 3].includes(++connections)) socket.send(failed('CAPACITY_REACHED'))
    },
  }
  await begun(answers)
  expect(connections).toBe(4)
})

it('a server that stays full is named at the limit', async () => {
  const full = opened({ reset: failed('CAPACITY_REACHED') }, { resetSeconds: 1 })
  session = await (await full).create()
  await expect(session.reset('train/0')).rejects.toMatchObject({
    kind: 'backend',
    message: expect.stringContaining('no place for one more session within 1 s'),
  })
})

// [OPENENV-TASK-2]
it('endless instances have seeds of their own, those of a list their arguments', async () => {
  const resets: { seed?: number; top?: number }[] = []
  const answers: Answers = {
    onMessage(text, socket) {
      resets.push(JSON.parse(text).data)
      socket.send(observed('go'))
    },
  }
  const endless = await opened(answers)
  session = await endless.create()
  for (const instance of ['train/0', 'train/1', 'train/0', 'test/0']) await session.reset(instance)
  const seeds = resets.map(({ seed = -1 }) => seed)
  expect(seeds[0]).toBe(seeds[2])
  expect(new Set(seeds).size).toBe(3)
  expect(seeds.map((seed) => seed % 2)).toEqual([0, 0, 0, 1])
  expect(endless.splits.map(({ name, size }) => [name, size])).toEqual([
    ['train', Number.POSITIVE_INFINITY],
    ['test', Number.POSITIVE_INFINITY],
  ])
  await session.close()
  await server?.close()
  const listed = await opened(answers, { resets: { easy: [{ top: 3 }, { top: 4, seed: 5 }] } })
  expect(listed.instanceAt('easy', 3)).toBe('easy/1')
  session = await listed.create()
  await session.reset('easy/1')
  expect(resets.at(-1)).toEqual({ top: 4, seed: 5 })
  await expect(session.reset('easy/2')).rejects.toThrow(
    /there is no instance "easy\/2": use easy\/0 to easy\/1/,
  )
})

it.each([
  ['a page', page('hello'), /\/schema has no action; expected a server of OpenEnv/],
  ['another protocol', page({ indices: [] }), /\/schema has no action; expected a server of OpenEnv/],
  [
    'no such page',
    (_: unknown, response: ServerResponse) => response.writeHead(404).end(),
    /\/schema answered with status 404.*expected a server of OpenEnv/,
  ],
  [
    'a schema that is none',
    page({ action: { type: 'object', properties: { a: { type: 'text' } } } }),
    /tool "act"/,
  ],
])('a server with %s is refused by name', async (_, onRequest, words) => {
  await expect(opened({ onRequest })).rejects.toThrow(words)
})

// [OPENENV-TOOLS-1]
it.each([
  ['not a list', observed('x'), /its list of tools cannot be read/],
  [
    'tools of one name',
    JSON.stringify({
      type: 'observation',
      data: {
        observation: { tools: ['a', 'a'].map((name) => ({ name, input_schema: { type: 'object' } })) },
        reward: null,
        done: false,
      },
    }),
    /two tools "a"/,
  ],
])('MCP tools that are %s are refused by name', async (_, step, words) => {
  const action = { properties: { type: { const: 'call_tool' }, tool_name: {}, arguments: {} } }
  await expect(opened({ step, onRequest: page({ action }) })).rejects.toThrow(words)
})

it("the address names one of the server's environments, or is refused with them", async () => {
  server = await replayServer('typed')
  const [only, ...others] = await remoteEnvironments(`openenv+${server.url}`)
  expect([only?.name, others]).toEqual(['guess', []])
  const other = remoteEnvironment(`openenv+${server.url}#maze`, 'maze')
  await expect(other.open({})).rejects.toThrow(/#maze": expected one of #guess: the server offers no "maze"/)
})

// [REMOTE-TASK-2]
it('is replayed only where the settings say so', () => {
  const replayable = (settings?: object) =>
    remoteEnvironment('openenv+http://host', 'it', { settings }).replayable
  expect([replayable(), replayable({}), replayable({ replayable: true })]).toEqual([false, false, true])
})

it('settings that it does not know are refused by name', async () => {
  await expect(opened({}, { noSuchSetting: 1 })).rejects.toThrow(/noSuchSetting/)
})
