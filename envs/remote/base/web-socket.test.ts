import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { type Serving, type SocketServer, serverFrame, serveSockets } from './socket-server.testing.ts'
import { connectSocket, type RequestSocket } from './web-socket.ts'
import { FrameReader } from './web-socket-frames.ts'

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

// [FRAMES-1]
it('a message in parts, between pings, is whole again wherever the network divides it', () => {
  const texts = fc.array(fc.string({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(texts, fc.array(fc.nat(2000), { maxLength: 20 }), (parts, cuts) => {
      const bytes = Buffer.concat(
        parts.flatMap((part, at) => [
          serverFrame((at === 0 ? 1 : 0) | (at === parts.length - 1 ? 0x80 : 0), part),
          serverFrame(0x89, ''),
        ]),
      )
      const places = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length]
      const reader = new FrameReader(10_000)
      const read = places
        .slice(1)
        .flatMap((end, at) => [...reader.read(bytes.subarray(places[at], end))])
        .filter(({ opcode }) => opcode === 1)
      expect(read.map(({ payload }) => payload.toString())).toEqual([parts.join('')])
    }),
  )
})

// [FRAMES-2] [SOCKET-2]
it('a message of 100 MB is refused when its length is read', async () => {
  const asking = await connected({
    onMessage: (_, served) => served.write(serverFrame(0x81, 'a', 100_000_000)),
  })
  await expect(asking.request('?', 'a step', 5000)).rejects.toMatchObject({
    kind: 'session_lost',
    message: expect.stringContaining('more than 1000 bytes'),
  })
})

it('parts that together exceed the bound are refused too', () => {
  const reader = new FrameReader(10)
  expect([...reader.read(serverFrame(1, '123456'))]).toEqual([])
  expect(() => [...reader.read(serverFrame(0, '78901'))]).toThrow('more than 10 bytes')
})

it('asks and is answered, with texts of every length and letter', async () => {
  const asking = await connected({ onMessage: (text, served) => served.send(text) }, 200_000)
  for (const text of ['', 'ä🫖', 'x'.repeat(125), 'x'.repeat(126), 'x'.repeat(70_000)])
    expect(await asking.request(text, 'an echo', 5000)).toBe(text)
})

// [SOCKET-1]
const wrongs: readonly (readonly [what: string, serving: Serving, words: string])[] = [
  ['never answers', {}, 'did not answer a step within 0.05 s'],
  ['ends the connection', { onMessage: (_, served) => served.end() }, 'the connection was lost'],
  ['says goodbye', { onMessage: (_, served) => served.write(serverFrame(0x88, '')) }, 'closed the session'],
  ['writes bytes', { onMessage: (_, served) => served.write(serverFrame(0x82, 'x')) }, 'that is no text'],
  [
    'writes no frame',
    { onMessage: (_, served) => served.write(Buffer.from('HTTP/1.1')) },
    'no message of a WebSocket',
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

it.each([['answers as a server of pages', {}, 'it answered with status 404']])(
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
