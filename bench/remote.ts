/**
 * CPU time of a turn of an environment behind a server, beside that of its bytes alone.
 *
 * Invariants
 * - The reference is a bare client of the same run: it sends the same bytes to the same server and parses what comes back.
 * - Episodes and exchanges are as many at once, in turns short enough that both meet the same machine.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import type { Environment } from '../envs/contract/environment.ts'
import { remoteEnvironment } from '../envs/remote/remote-environment.ts'
import type { AssistantMessage } from '../messages/message.ts'
import type { Figure } from './figure.ts'

interface Options {
  /** Turns of each protocol, and as many bare exchanges. */
  readonly turns?: number
}

const concurrent = 256
const rounds = 10
const limitMs = 0.5
const given = { command: 'open the drawer below the lamp with the small key' }
const action: AssistantMessage = {
  role: 'assistant',
  content: 'I try the drawer.',
  tool_calls: [{ name: 'act', arguments: given }],
}

/** Exchanges once, in one of the places. */
type Exchange = (place: number) => Promise<unknown>

export async function bench({ turns = 50_000 }: Options = {}): Promise<Figure[]> {
  const server = fork(fileURLToPath(new URL('./remote/server.ts', import.meta.url)))
  try {
    const [url] = (await once(server, 'message')) as [string]
    return [
      ...(await compared('openenv', turns, await played(`openenv+${url}`), await bareSockets(url))),
      ...(await compared('agentrl', turns, await played(`agentrl+${url}/api#it`), bareRequests(url))),
    ]
  } finally {
    server.kill()
  }
}

interface Client {
  readonly exchange: Exchange
  close(): Promise<void>
}

async function played(address: string): Promise<Client> {
  const task = await remoteEnvironment(address, 'it').open({})
  const sessions: Environment[] = []
  for (let place = 0; place < concurrent; place++) sessions.push(await task.create())
  await Promise.all(sessions.map((session, place) => session.reset(task.instanceAt('train', place))))
  return {
    exchange: async (place) => await sessions[place]?.step(action),
    async close() {
      await Promise.all(sessions.map((session) => session.close()))
      await task.close()
    },
  }
}

async function bareSockets(url: string): Promise<Client> {
  const sockets = Array.from(
    { length: concurrent },
    () => new WebSocket(`${url}/ws`, { perMessageDeflate: false }),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'open')))
  return {
    exchange: (place) =>
      new Promise((resolve) => {
        sockets[place]?.once('message', (data) => resolve(JSON.parse(data.toString())))
        sockets[place]?.send(JSON.stringify({ type: 'step', data: given }))
      }),
    async close() {
      for (const socket of sockets) socket.terminate()
    },
  }
}

function bareRequests(url: string): Client {
  const called = { name: 'act', arguments: JSON.stringify(given) }
  const message = { ...action, tool_calls: [{ id: 'call_0', type: 'function', function: called }] }
  return {
    async exchange() {
      const response = await fetch(`${url}/api/interact`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', session_id: '7' },
        body: JSON.stringify({ messages: [message] }),
      })
      return await response.json()
    },
    close: async () => undefined,
  }
}

async function compared(name: string, turns: number, of: Client, bare: Client): Promise<Figure[]> {
  const each = Math.ceil(turns / rounds)
  // One round of both is not counted: functions are compiled and connections made.
  await cpuMs(each, of.exchange)
  await cpuMs(each, bare.exchange)
  let [own, wire] = [0, 0]
  for (let round = 0; round < rounds; round++) {
    own += await cpuMs(each, of.exchange)
    wire += await cpuMs(each, bare.exchange)
  }
  await of.close()
  await bare.close()
  const [turn, exchange] = [own / rounds / each, wire / rounds / each]
  const above = turn - exchange
  return [
    { name: `${name} turn`, value: turn, unit: 'cpu ms', reference: exchange, ratio: turn / exchange },
    {
      name: `${name} above the wire`,
      value: above,
      unit: 'cpu ms',
      reference: limitMs,
      ratio: above / limitMs,
    },
  ]
}

/** Milliseconds of this process for so many exchanges. */
async function cpuMs(count: number, exchange: Exchange): Promise<number> {
  const before = process.cpuUsage()
  let left = count
  const play = async (_: unknown, place: number): Promise<void> => {
    while (left-- > 0) await exchange(place)
  }
  await Promise.all(Array.from({ length: concurrent }, play))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
