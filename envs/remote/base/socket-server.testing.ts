/** A server for tests, of HTTP and of WebSockets, that misbehaves on request. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

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
  readonly onRequest?: (request: IncomingMessage, response: ServerResponse) => void
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

/** Starts one on any free port. */
export async function serveSockets({ onRequest, onConnect, onMessage }: Serving): Promise<SocketServer> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    if (onRequest !== undefined) return onRequest(request, response)
    response.writeHead(404).end('not here')
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    if (request.url !== '/ws') {
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
      return
    }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    const heard: string[] = []
    const served: ServedSocket = {
      heard,
      send: (text) => socket.write(serverFrame(0x81, text)),
      write: (bytes) => socket.write(bytes),
      end: () => socket.destroy(),
      onEnd: (call) => socket.once('close', call),
    }
    onConnect?.(served)
    let kept = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      kept = Buffer.concat([kept, chunk])
      for (let frame = unmasked(kept); frame !== undefined; frame = unmasked(kept)) {
        kept = kept.subarray(frame.end)
        if (frame.opcode === 8) socket.end()
        if (frame.opcode !== 1) continue
        onMessage?.(frame.text, served)
        heard.push(frame.text)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
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

function unmasked(
  bytes: Buffer,
): { readonly opcode: number; readonly text: string; readonly end: number } | undefined {
  if (bytes.length < 6) return undefined
  const short = (bytes[1] ?? 0) & 0x7f
  const start = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < start + 4) return undefined
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  const end = start + 4 + length
  if (bytes.length < end) return undefined
  const mask = bytes.subarray(start, start + 4)
  const payload = bytes.subarray(start + 4, end).map((byte, at) => byte ^ (mask[at & 3] ?? 0))
  return { opcode: (bytes[0] ?? 0) & 0x0f, text: Buffer.from(payload).toString('utf8'), end }
}
