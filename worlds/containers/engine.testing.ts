/**
 * An engine for tests of requests to one: it answers a ping, and everything else as the test says.
 *
 * Invariants
 * - It ends with the test that started it.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { connectEngine, type Engine } from './engine.ts'

export async function engineThat(answer: RequestListener): Promise<Engine> {
  const server = createServer((request, response) => {
    if (request.url === '/_ping') response.end('OK')
    else answer(request, response)
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return connectEngine(`tcp://127.0.0.1:${port}`)
}
