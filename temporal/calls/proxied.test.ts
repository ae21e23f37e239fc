/** Real servers, reached with the variables of a machine behind a proxy. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect as connectTo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { connect } from '../connection.ts'
import { startTemporal } from '../server/server.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-proxied-'))
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
beforeEach(() => {
  for (const name of ['TEMPORAL_ADDRESS', 'no_proxy', 'no_grpc_proxy', 'NO_PROXY'])
    vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Nothing listens there. */
const dead = 'http://127.0.0.1:9'

it('the server of a home is started, joined and used directly, whatever proxy the machine has', async () => {
  for (const name of ['http_proxy', 'https_proxy', 'grpc_proxy']) vi.stubEnv(name, dead)
  const first = await startTemporal(home)
  const joined = await connect(home)
  try {
    expect(joined.address).toBe(first.address)
    const [client, worker] = await Promise.all([
      Connection.connect(joined.options),
      NativeConnection.connect(joined.options),
    ])
    await client.close()
    await worker.close()
  } finally {
    await joined.close()
    await first.close()
  }
})

it('clients and workers reach a server elsewhere through the proxy that the variables name', async () => {
  const server = await startTemporal(home)
  const asked: string[] = []
  const proxy = createServer().on('connect', (request, socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
    const way = connectTo(Number(server.address.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(way).pipe(socket)
    })
    for (const each of [socket, way]) each.on('error', () => way.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('https_proxy', `http://me:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  vi.stubEnv('TEMPORAL_ADDRESS', 'temporal.example.org:7233')
  try {
    const elsewhere = await connect(home)
    const beforeWorker = asked.length
    expect(beforeWorker).toBeGreaterThan(0)
    const worker = await NativeConnection.connect(elsewhere.options)
    expect(asked.length).toBeGreaterThan(beforeWorker)
    const credentials = Buffer.from('me:secret').toString('base64')
    expect(new Set(asked)).toEqual(new Set([`temporal.example.org:7233 Basic ${credentials}`]))
    await worker.close()
    await elsewhere.close()
  } finally {
    proxy.close()
    await server.close()
  }
})

it('a proxy that does not answer is named together with the server behind it', async () => {
  vi.stubEnv('http_proxy', dead)
  vi.stubEnv('TEMPORAL_ADDRESS', 'temporal.example.org:7233')
  await expect(connect(home)).rejects.toMatchObject({
    kind: 'unreachable',
    message: expect.stringMatching(
      /temporal\.example\.org:7233 .*the proxy 127\.0\.0\.1:9 that http_proxy names/,
    ),
  })
})
