/** Servers of OpenEnv and of AgentRL that misbehave when they are asked one of their requests. */
import type { ServerResponse } from 'node:http'
import { type ServedSocket, type Serving, serverFrame } from './base/socket-server.testing.ts'

/** Requests of a session in their order, those of the check before the tasks first; the last is a turn. */
export const requests = {
  openenv: ['/schema', '/ws', 'list_tools', '/ws 2', 'reset', 'step'],
  agentrl: ['/api/get_indices', '/api/start_sample', '/api/interact'],
} as const

export interface FaultyServing extends Serving {
  /** Ends when it has misbehaved once. */
  readonly asked: Promise<void>
  /** From now on all answers are right. */
  repair(): void
}

const observed = (observation: unknown, reward: unknown = null, done = false) =>
  JSON.stringify({ type: 'observation', data: { observation, reward, done } })
const tools = [{ name: 'act', description: 'Acts.', input_schema: { type: 'object', properties: {} } }]

/** Right answers. */
const answers: Readonly<Record<string, string>> = {
  '/schema': JSON.stringify({
    action: { properties: { type: { const: 'call_tool' }, tool_name: {}, arguments: {} } },
  }),
  list_tools: observed({ tools }),
  reset: observed({ text: 'Go.' }),
  step: observed({ result: { data: 'right' } }, 1, true),
  '/api/list_workers': '{"it":{}}',
  '/api/get_indices': '[0,1]',
  '/api/start_sample': JSON.stringify({
    messages: [{ role: 'user', content: 'Go.' }],
    tools: [{ type: 'function', function: { name: 'act' } }],
    finish: false,
    status: 'running',
    reward: 0,
  }),
  '/api/interact': JSON.stringify({ messages: [], finish: true, status: 'completed', reward: 1 }),
}

/** Answers that are none, by their names. */
const lies: Readonly<Record<string, () => string>> = {
  garbage: () => 'hello',
  shapeless: () => '{"type":"observation","data":7,"action":7,"finish":"maybe"}',
  nothing: () => '7',
  endless: () => 'x'.repeat(100_000_000),
}

/** A server that does `trick` when it is asked `request`, and else is right. @param request with 2 behind it: only the second of them */
export function faulty(request: string, trick: string): FaultyServing {
  const [wrong = '', from = '1'] = request.split(' ')
  let times = 0
  let isRepaired = false
  const { promise, resolve } = Promise.withResolvers<void>()
  const isWrong = (name: string): boolean => {
    if (isRepaired || name !== wrong || ++times < Number(from)) return false
    resolve()
    return true
  }
  return {
    asked: promise,
    repair() {
      isRepaired = true
    },
    onRequest({ url = '' }, response) {
      const [path = ''] = url.split('?')
      response.setHeader('session_id', '7')
      if (isWrong(path)) misbehave(trick, response)
      else if (answers[path] === undefined) response.writeHead(404).end()
      else response.end(answers[path])
    },
    onUpgrade(socket) {
      if (!isWrong('/ws')) return false
      if (trick === 'die') socket.destroy()
      else if (trick === 'status') socket.end('HTTP/1.1 500 Roof on fire\r\nContent-Length: 0\r\n\r\n')
      else if (trick === 'drip') drip(socket)
      else if (trick !== 'freeze') socket.end('hello\r\n\r\n')
      return true
    },
    onMessage(text, socket) {
      const name = text.includes('list_tools') ? 'list_tools' : (JSON.parse(text).type as string)
      if (isWrong(name)) misbehaveOn(trick, socket)
      else socket.send(answers[name] ?? '')
    },
  }
}

function misbehave(trick: string, response: ServerResponse): void {
  const lie = lies[trick]
  if (lie !== undefined) response.end(lie())
  else if (trick === 'die') response.destroy()
  else if (trick === 'status') response.writeHead(500).end('the roof is on fire')
  else if (trick === 'drip') drip(response)
  else if (trick === 'cut') {
    response.write('{"messages":')
    setImmediate(() => response.destroy())
  }
}

function misbehaveOn(trick: string, socket: ServedSocket): void {
  const lie = lies[trick]
  if (lie !== undefined) socket.send(lie())
  else if (trick === 'die') socket.end()
  else if (trick === 'status')
    socket.send('{"type":"error","data":{"code":"EXECUTION_ERROR","message":"the roof is on fire"}}')
  else if (trick === 'drip') drip({ write: (text) => socket.write(Buffer.from(text)) }, '\u0001')
  else if (trick === 'cut') {
    socket.write(serverFrame(0x81, '{"type":', 100))
    setImmediate(() => socket.end())
  }
}

/** Answers byte by byte, and never to the end. */
function drip(
  to: { write(text: string): unknown; once?(name: 'close', call: () => void): unknown },
  byte = 'H',
): void {
  const timer = setInterval(() => to.write(byte), 20).unref()
  to.once?.('close', () => clearInterval(timer))
}
