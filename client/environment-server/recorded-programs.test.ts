/** Recorded words of the unmodified agentrl-worker 0.4.0 and agentrl-eval 0.1.2; `agentrl.nightly.test.ts` runs and records them. */
import { text } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { serveSockets } from '../../envs/remote/base/socket-server.testing.ts'
import { remoteEnvironment } from '../../envs/remote/remote-environment.ts'
import { guessNumber } from '../../examples/guess-number/index.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { type EnvironmentServer, serveEnvironments } from './environment-server.ts'
import { ask, recordingOf, withoutSession } from './recorded-programs.testing.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function controller(): Promise<EnvironmentServer> {
  const task = await guessNumber.open({})
  closing.push(() => task.close())
  const tasks = [{ name: 'own', task, split: 'train', size: 10, turnLimit: 3 }]
  const server = await serveEnvironments({ tasks, places: 4, port: 0 })
  closing.push(() => server.close())
  return server
}

/** Answers each recorded request once, as the worker did; any other loses its connection. */
async function recordedWorker(): Promise<string> {
  const left = [...recordingOf('worker').exchanges]
  const server = await serveSockets({
    async onRequest(request, response) {
      const given = await text(request)
      const body = JSON.stringify(withoutSession(given === '' ? undefined : JSON.parse(given)))
      const at = left.findIndex(
        ({ path, body: recorded }) =>
          path === request.url && JSON.stringify(withoutSession(recorded)) === body,
      )
      const [found] = at < 0 ? [] : left.splice(at, 1)
      if (found === undefined) response.destroy()
      else response.writeHead(found.status).end(JSON.stringify(found.answer))
    },
  })
  closing.push(() => server.close())
  return `${server.url}/api`
}

const guess = (n: number): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'guess', arguments: { n } }],
})

it('a worker that reports and answers as recorded is played to its reward; where it is gone the session is lost', async () => {
  const server = await controller()
  const [heartbeat] = recordingOf('heartbeat').exchanges
  if (heartbeat === undefined) throw new Error('no heartbeat is recorded')
  const body = { ...(heartbeat.body as object), address: await recordedWorker() }
  const heard = await ask(new URL(server.url).origin, { ...heartbeat, body })
  expect([heard.status, await heard.json()]).toEqual([heartbeat.status, heartbeat.answer])
  const task = await remoteEnvironment(`agentrl+${server.url}#number`, 'it').open({})
  closing.push(() => task.close())
  const [won, lost] = [await task.create(), await task.create()]
  await won.reset('train/3')
  await won.step({ role: 'assistant', content: 'Hm.' })
  expect(await won.step(guess(1))).toMatchObject({ reward: 0, done: false })
  expect(await won.step(guess(3))).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
  await lost.reset('train/4')
  await expect(lost.step(guess(4))).rejects.toMatchObject({ kind: 'session_lost' })
  await Promise.all([won.close(), lost.close()])
  expect(await (await fetch(`${server.url}/list_sessions`)).json()).toEqual({})
})

it('each request of eval gets the recorded answer, with a session of its own', async () => {
  const root = new URL((await controller()).url).origin
  const sessions = new Map<string | undefined, string>()
  const { exchanges } = recordingOf('eval')
  expect(exchanges.length).toBeGreaterThan(10)
  for (const exchange of exchanges) {
    const answered = await ask(root, exchange, sessions.get(exchange.session))
    expect([answered.status, await answered.json()]).toEqual([exchange.status, exchange.answer])
    const begun = answered.headers.get('session_id')
    if (exchange.begun !== undefined && begun !== null) sessions.set(exchange.begun, begun)
  }
  expect(new Set(sessions.values()).size).toBe(4)
})
