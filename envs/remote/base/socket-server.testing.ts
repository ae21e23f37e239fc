/** A server for tests, of HTTP and of WebSockets, that misbehaves on request. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'

/** One connection, as the server has it. */
export interface ServedSocket {
  /** Messages that were heard on it before. */
  readonly heard: readonly string[]
  send(text: string): void
  /** Writes bytes that may be no frame. */
  write(bytes: Buffer): void
  end(): void
  onEnd(call: () => void): void
}

export interface SocketServer {
  /** http://127.0.0.1:PORT */
  readonly url: string
  /** Connections that are open. */
  readonly open: () => number
  close(): Promise<void>
}

export interface Serving {
  /** Any free one by default. */
  readonly port?: number
  readonly onRequest?: (request: IncomingMessage, response: ServerResponse) => void
  /** @returns whether it has taken a connection that is about to become a WebSocket. */
  readonly onUpgrade?: (socket: Socket) => boolean
  readonly onConnect?: (socket: ServedSocket) => void
  readonly onMessage?: (text: string, socket: ServedSocket) => void
}

/** A frame of a server, which masks nothing. @param first opcode, with 0x80 where the message ends with it */
export function serverFrame(
  first: number,
  payload: Buffer | string,
  length = Buffer.byteLength(payload),
): Buffer {
  const bytes = Buffer.from(payload)
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), bytes])
  const header = Buffer.alloc(10)
  header[0] = first
  header[1] = 127
  header.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([header, bytes])
}

/** Starts one. */
export async function serveSockets({
  onRequest,
  onUpgrade,
  onConnect,
  onMessage,
  port: wanted = 0,
}: Serving): Promise<SocketServer> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    if (onRequest !== undefined) return onRequest(request, response)
    response.writeHead(404).end('not here')
  })
  const accepting = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head) => {
    if (request.url !== '/ws') {
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
      return
    }
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
    if (onUpgrade?.(socket) === true) return
    accepting.handleUpgrade(request, socket, head, (accepted) => {
      const heard: string[] = []
      const served: ServedSocket = {
        heard,
        send: (text) => accepted.send(text),
        write: (bytes) => socket.write(bytes),
        end: () => socket.destroy(),
        onEnd: (call) => socket.once('close', call),
      }
      accepted.on('error', () => socket.destroy())
      accepted.on('message', (data) => {
        const text = data.toString()
        onMessage?.(text, served)
        heard.push(text)
      })
      onConnect?.(served)
    })
  })
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
