/** Calls over connections that are kept for the next one. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { callServer } from './server-call.ts'

async function listening() {
  const connections: Socket[] = []
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const { url } = request
    if (url === '/reset') request.socket.resetAndDestroy()
    else if (url === '/late') setTimeout(() => response.end('{}'), 4_000)
    else response.end('{}')
  })
  server.on('connection', (socket) => connections.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const call = (path: string) => callServer({ url, path }, { answerMs: 60_000, answerBytes: 100 })
  return { connections, call }
}

// [CALL-4]
it('a connection that is idle is closed, though the server keeps it', async () => {
  const { connections, call } = await listening()
  await call('/')
  await call('/')
  expect(connections).toHaveLength(1)
  await expect.poll(() => connections[0]?.destroyed, { timeout: 30_000 }).toBe(true)
  await call('/')
  expect(connections).toHaveLength(2)
}, 60_000)

// [CALL-4]
it('a call whose connection breaks is not made again unseen', async () => {
  const { connections, call } = await listening()
  await call('/')
  await expect(call('/reset')).rejects.toMatchObject({ kind: 'unreachable', permanent: false })
  expect(connections).toHaveLength(1)
})

it('an answer may take longer than an idle connection is kept', async () => {
  const { connections, call } = await listening()
  expect(await call('/late')).toEqual({})
  expect(connections).toHaveLength(1)
}, 60_000)
