/**
 * A file server for tests, which answers like a publisher's or misbehaves as the test says.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'

export type Answering = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void

export interface FileServer {
  readonly url: string
  /** Requests so far: `GET /path` with the range, if one was asked for. */
  readonly requests: string[]
  /** Files by path, with a query where there is one. */
  readonly files: Map<string, Buffer>
  /** How the next requests of a path are answered, one each; as usual when none is left. */
  readonly tricks: Map<string, Answering[]>
  /** Breaks the connections that `holdAfter` has left open. */
  breakOff(): void
  close(): Promise<void>
}

const held = new Set<ServerResponse>()

export async function startFileServer(): Promise<FileServer> {
  const requests: string[] = []
  const files = new Map<string, Buffer>()
  const tricks = new Map<string, Answering[]>()
  const server = createServer((request, response) => {
    const url = decodeURIComponent(request.url ?? '')
    const { range } = request.headers
    requests.push(range === undefined ? url : `${url} ${range}`)
    const body = files.get(url)
    const trick = tricks.get(url)?.shift()
    if (trick !== undefined) trick(request, response, body ?? Buffer.alloc(0))
    else if (body === undefined) response.writeHead(404).end('<html>not found</html>')
    else serve(request, response, body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    files,
    tricks,
    breakOff() {
      for (const response of held) response.destroy()
      held.clear()
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** As publishers do: with a length, a strong version and ranges. */
export const serve: Answering = (request, response, body) => {
  const etag = `"${sha256(body)}"`
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const same = request.headers['if-range'] === etag
  if (start >= body.length && same) {
    response.writeHead(416, { 'content-range': `bytes */${body.length}` }).end()
  } else if (start > 0 && same) {
    const rest = body.subarray(start)
    response.writeHead(206, {
      etag,
      'content-length': rest.length,
      'content-range': `bytes ${start}-${body.length - 1}/${body.length}`,
    })
    response.end(rest)
  } else response.writeHead(200, { etag, 'content-length': body.length }).end(body)
}

/** Sends so many bytes and then nothing, until the connection is broken off. */
export function holdAfter(length: number): Answering {
  return (request, response, body) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const headers = { etag: `"${sha256(body)}"`, 'content-length': body.length - start }
    const range = { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` }
    if (start > 0) response.writeHead(206, { ...headers, ...range })
    else response.writeHead(200, headers)
    response.write(body.subarray(start, start + length))
    held.add(response)
  }
}

export function status(code: number, headers: Record<string, string> = {}): Answering {
  return (_, response) => void response.writeHead(code, headers).end('<html>no</html>')
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export interface ZipEntry {
  readonly name: string
  readonly text: string
  /** File type and permissions of Unix, e.g. 0o120777 for a link. */
  readonly mode?: number
  /** Another checksum than the right one. */
  readonly crc?: number
}

/** An archive without compression; names are taken as they are. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, text, mode = 0o100644, crc } of entries) {
    const bytes = Buffer.from(text)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x800, 2)
    common.writeUInt32LE(crc ?? crc32(bytes), 10)
    common.writeUInt32LE(bytes.length, 14)
    common.writeUInt32LE(bytes.length, 18)
    common.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), bytes])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE((mode << 16) >>> 0, 6)
    tail.writeUInt32LE(offset, 10)
    const madeOnUnix = Buffer.from([20, 3])
    directory.push(
      Buffer.concat([Buffer.from('PK\u0001\u0002'), madeOnUnix, common, tail, Buffer.from(name)]),
    )
    parts.push(local)
    offset += local.length
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(size, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, ...directory, Buffer.from('PK\u0005\u0006'), end])
}
