import { afterEach, expect, it } from 'vitest'
import { type Serving, type SocketServer, serverFrame, serveSockets } from './socket-server.testing.ts'
import { connectSocket, type RequestSocket } from './web-socket.ts'

let server: SocketServer | undefined
let socket: RequestSocket | undefined
afterEach(async () => {
  socket?.close()
  await server?.close()
})

async function connected(serving: Serving, messageBytes = 1000): Promise<RequestSocket> {
  server = await serveSockets(serving)
  const options = { headers: {}, shown: 'the server', connectMs: 5000, messageBytes }
  socket = await connectSocket({ url: new URL('/ws', server.url), ...options })
  return socket
}

// [SOCKET-2]
it('a message of 100 MB is refused when its length is read', async () => {
  const asking = await connected({
    onMessage: (_, served) => served.write(serverFrame(0x81, 'a', 100_000_000)),
  })
  await expect(asking.request('?', 'a step', 5000)).rejects.toMatchObject({
    kind: 'session_lost',
    message: expect.stringContaining('more than 1000 bytes'),
  })
})

it('asks and is answered, with texts of every length and letter', async () => {
  const asking = await connected({ onMessage: (text, served) => served.send(text) }, 200_000)
  for (const text of ['', 'ä🫖', 'x'.repeat(125), 'x'.repeat(126), 'x'.repeat(70_000)])
    expect(await asking.request(text, 'an echo', 5000)).toBe(text)
})

// [SOCKET-1]
const wrongs: readonly (readonly [what: string, serving: Serving, words: string])[] = [
  ['never answers', {}, 'did not answer a step within 0.05 s'],
  ['ends the connection', { onMessage: (_, served) => served.end() }, 'the server ended the session'],
  [
    'says goodbye',
    { onMessage: (_, served) => served.write(serverFrame(0x88, '')) },
    'the server ended the session',
  ],
  ['writes bytes', { onMessage: (_, served) => served.write(serverFrame(0x82, 'x')) }, 'that is no text'],
  [
    'writes no frame',
    { onMessage: (_, served) => served.write(Buffer.from('HTTP/1.1')) },
    'the connection was lost',
  ],
]
it.each(wrongs)('a server that %s loses the session, by name', async (_, serving, words) => {
  const asking = await connected(serving)
  const limit = words.includes('within') ? 50 : 5000
  const lost = { kind: 'session_lost', message: expect.stringMatching(`^the server: .*${words}`) }
  await expect(asking.request('?', 'a step', limit)).rejects.toMatchObject(lost)
  await expect(asking.request('?', 'a step', limit)).rejects.toMatchObject(lost)
})

// [SOCKET-3]
it('closing ends the connection to a server that reads nothing', async () => {
  let ended: (() => void) | undefined
  const end = new Promise<void>((resolve) => {
    ended = resolve
  })
  const asking = await connected({ onConnect: (served) => served.onEnd(() => ended?.()) })
  asking.close()
  await end
  expect(server?.open()).toBe(0)
})

it.each([['answers as a server of pages', {}, 'Unexpected server response: 404']])(
  'a server that %s is refused by name',
  async (_, serving, words) => {
    server = await serveSockets(serving)
    const options = { headers: {}, shown: 'the server', connectMs: 5000, messageBytes: 1000 }
    const plain = new URL('/plain', server.url)
    await expect(connectSocket({ url: plain, ...options })).rejects.toMatchObject({
      kind: 'backend',
      message: expect.stringContaining(words),
    })
  },
)
