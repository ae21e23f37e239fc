/** Servers that answer what real ones answered: the nightly test writes the recordings where `PERDURE_RECORD=1`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SocketServer, serveSockets } from '../base/socket-server.testing.ts'
import { connectSocket } from '../base/web-socket.ts'

/** The answers of a server: of each path, and of each connection in order to each message. */
export interface Recording {
  /** The package that answered. */
  readonly of: string
  readonly paths: Readonly<Record<string, unknown>>
  readonly connections: readonly (readonly (readonly [asked: unknown, answered: unknown])[])[]
}

function fileOf(name: string): string {
  return join(import.meta.dirname, 'recorded', `${name}.json`)
}

/** Answers as recorded; a request that was not recorded ends the connection. */
export async function replayServer(name: string): Promise<SocketServer> {
  const { paths, connections } = JSON.parse(readFileSync(fileOf(name), 'utf8')) as Recording
  let connected = 0
  const places = new WeakMap<object, Recording['connections'][number]>()
  return await serveSockets({
    onRequest({ url = '' }, response) {
      const said = paths[url]
      response.writeHead(said === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(said ?? { detail: 'Not Found' }))
    },
    onConnect: (socket) => places.set(socket, connections[connected++] ?? []),
    onMessage(text, socket) {
      const [asked, answered] = places.get(socket)?.[socket.heard.length] ?? []
      if (JSON.stringify(JSON.parse(text)) === JSON.stringify(asked)) socket.send(JSON.stringify(answered))
      else socket.end()
    },
  })
}

/** A server that passes all on to a real one, and with `PERDURE_RECORD=1` writes down its answers. */
export async function recordServer(name: string, of: string, url: string): Promise<SocketServer> {
  const paths: Record<string, unknown> = {}
  const connections: (readonly [unknown, unknown])[][] = []
  const links = new WeakMap<
    object,
    { readonly socket: ReturnType<typeof connectSocket>; readonly said: (readonly [unknown, unknown])[] }
  >()
  const server = await serveSockets({
    onRequest({ url: path = '' }, response) {
      void fetch(url + path).then(async (answer) => {
        if (answer.status === 200) paths[path] = await answer.json()
        response.writeHead(answer.status).end(JSON.stringify(paths[path] ?? {}))
      })
    },
    onConnect(socket) {
      const options = { shown: url, connectMs: 5000, messageBytes: 2 ** 24, headers: {} }
      const said: (readonly [unknown, unknown])[] = []
      connections.push(said)
      links.set(socket, { socket: connectSocket({ url: new URL('/ws', url), ...options }), said })
    },
    onMessage(text, socket) {
      const link = links.get(socket)
      void link?.socket.then(async (real) => {
        const answered = await real.request(text, 'it', 20_000)
        link.said.push([JSON.parse(text), JSON.parse(answered)])
        socket.send(answered)
      })
    },
  })
  return {
    ...server,
    async close() {
      await server.close()
      if (process.env.PERDURE_RECORD === '1')
        writeFileSync(fileOf(name), `${JSON.stringify({ of, paths, connections }, null, 1)}\n`)
    },
  }
}
