import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { readRemoteAddress } from '../../../machine/network/remote-address.ts'
import { simulatedClock } from '../../../machine/services/clock.testing.ts'
import { withClock } from '../../../machine/services/clock.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { askForJson, expecting, type RemoteServer, ServerFull, whenThereIsRoom } from './server.ts'
import { type SocketServer, serveSockets } from './socket-server.testing.ts'

let server: SocketServer | undefined
afterEach(() => server?.close())

async function serving(
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<RemoteServer> {
  server = await serveSockets({ onRequest })
  return { address: readRemoteAddress(`openenv+${server.url}/base/`), headers: {} }
}

const get = { path: '/x', withinMs: 60_000, lost: 'backend' } as const
const post = { ...get, body: { a: 1 }, lost: 'session_lost' } as const

it('a path goes behind that of the address, with the headers of the user', async () => {
  const asked = await serving(({ url, headers }, response) =>
    response.end(JSON.stringify([url, headers.key])),
  )
  expect(await askForJson({ ...asked, headers: { key: 'k' } }, { ...get, query: { n: 'a b' } })).toEqual([
    '/base/x?n=a+b',
    'k',
  ])
})

// [REMOTE-1]
it('a server that does not answer is given up within the limit', async () => {
  const silent = await serving(() => undefined)
  await expect(askForJson(silent, { ...post, withinMs: 50 })).rejects.toMatchObject({
    kind: 'session_lost',
    message: expect.stringMatching(/^openenv\+http:.*: \/x did not answer within 0\.05 s$/),
  })
})

// [REMOTE-2]
it('an endless answer is cut off and named', async () => {
  let isEnded = false
  const endless = await serving((_, response) => {
    response.once('close', () => {
      isEnded = true
    })
    const more = () => {
      while (!isEnded && response.write(Buffer.alloc(1 << 20, 'a')));
      if (!isEnded) response.once('drain', more)
    }
    more()
  })
  await expect(askForJson(endless, get)).rejects.toMatchObject({
    kind: 'backend',
    message: expect.stringContaining('more than 16777216 bytes'),
  })
})

// [REMOTE-3]
it('a request that changes nothing is sent again, any other is not', async () => {
  let asked = 0
  const flaky = await serving(({ method }, response) => {
    asked++
    response.statusCode = method === 'GET' && asked === 2 ? 200 : 503
    response.end('7')
  })
  expect(await askForJson(flaky, get)).toBe(7)
  expect(asked).toBe(2)
  await expect(askForJson(flaky, post)).rejects.toThrow(/\/x answered with status 503: 7$/)
  expect(asked).toBe(3)
})

// [REMOTE-3]
it('a full server is asked until there is room, or the limit', async () => {
  const simulated = simulatedClock()
  let tries = 0
  const work = async () => {
    if (++tries < 5) throw new ServerFull('2 of 2')
    return 'in'
  }
  const waiting = withClock(simulated, () => whenThereIsRoom('it', 10_000, work))
  await simulated.advance(10_000)
  expect(await waiting).toBe('in')
  const givenUp = withClock(simulated, () =>
    whenThereIsRoom('it', 10_000, () => Promise.reject(new ServerFull('2 of 2'))),
  )
  const failed = expect(givenUp).rejects.toThrow(
    /^it: it had no place for one more session within 10 s \(2 of 2\)/,
  )
  await simulated.advance(11_000)
  await failed
})

it('a check says what was expected, of a server that is not there alone', async () => {
  const failing = (kind: EnvironmentFault['kind']) =>
    expecting('a maze', () => Promise.reject(new EnvironmentFault(kind, 'no')))
  await expect(failing('backend')).rejects.toThrow(/^no; expected a maze$/)
  await expect(failing('bad_data')).rejects.toThrow(/^no$/)
})
