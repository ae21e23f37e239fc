/** Addresses that cannot be played, as the check before a start and `--dry-run` name them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import { resolveConfig } from '../../config/files/loader.ts'
import {
  type Serving,
  type SocketServer,
  serveSockets,
} from '../../envs/remote/base/socket-server.testing.ts'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { checkTasks } from './task-check.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-address-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
let server: SocketServer | undefined
afterEach(() => server?.close())

/** The words of the check about a task behind an address. */
async function refusal(from: string): Promise<string> {
  const given = {
    tasks: [{ task: 'maze', from }],
    warmStart: { demonstrations: 0 },
    evaluation: { suites: [{ task: 'maze' }] },
  }
  return await Promise.resolve()
    .then(() => checkTasks(resolveConfig(given), { home, setUp: false }))
    .then(
      () => 'it is accepted',
      (fault: Error) => fault.message,
    )
}

const servers = /openenv\+http\(s\):\/\/HOST:PORT\[#NAME\] or agentrl\+http/
it.each(['gopher+http://127.0.0.1', 'openenv+http://', 'agentrl+ftp://host', 'http://127.0.0.1:8000'])(
  '%s is refused with what is allowed',
  async (from) => {
    const words = await refusal(from)
    expect(words).toContain(`\`tasks.0.from\` is "${from}"`)
    expect(words).toMatch(servers)
  },
)

const pages = (answers: Readonly<Record<string, unknown>>): Serving => ({
  onUpgrade(socket) {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
    return true
  },
  onRequest({ url = '' }, response) {
    const answer = answers[url.split('?')[0] ?? '']
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}))
  },
})
const openenv = /expected a server of OpenEnv \(openenv 0\.10/
const agentrl = /expected the \/api of an AgentRL controller/

it.each([
  ['another protocol', 'openenv', '', pages({ '/api/get_indices': [0] }), openenv],
  ['another protocol', 'agentrl', '/api', pages({ '/schema': { action: {} } }), agentrl],
  [
    'an older version without /ws',
    'openenv',
    '',
    pages({ '/schema': { action: { type: 'object' } } }),
    openenv,
  ],
  [
    'no such task',
    'agentrl',
    '/api#shop',
    pages({ '/api/list_workers': { os: {}, db: {} } }),
    /expected one of #os, #db: the server offers no "shop"/,
  ],
  [
    'no such task',
    'openenv',
    '#shop',
    pages({ '/list_environments': ['os'] }),
    /expected one of #os: the server offers no "shop"/,
  ],
] as const)(
  'a server with %s is named with what was expected: %s',
  async (_, protocol, rest, serving, expected) => {
    server = await serveSockets(serving)
    const from = `${protocol}+${server.url}${rest}`
    const words = await refusal(from)
    expect(words).toContain(`\`tasks.0.from\` is "${from}"`)
    expect(words).toMatch(expected)
  },
)

it.each([
  ['openenv', '', openenv],
  ['agentrl', '/api', agentrl],
])('a server of %s that is down, or does not answer for 10 s, is named', async (protocol, path, expected) => {
  const asked = Promise.withResolvers<void>()
  server = await serveSockets({ onRequest: () => asked.resolve() })
  const from = `${protocol}+${server.url}${path}`
  const clock = simulatedClock()
  const waiting = withClock(clock, () => refusal(from))
  await Promise.race([asked.promise, waiting])
  await clock.advance(10_000)
  expect(await waiting).toMatch(expected)
  await server.close()
  const down = await refusal(from)
  expect(down).toContain(from)
  expect(down).toMatch(expected)
})
