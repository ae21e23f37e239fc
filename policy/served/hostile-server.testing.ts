/**
 * A small server that answers as a test tells it to, whatever that is.
 *
 * Invariants
 * - It listens on loopback, and ends with its test.
 * - A behaviour that fails is an error of the test, unless the connection was closed before.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A call as the server gets it. */
export interface HeardCall {
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows it has sent
  readonly body: any
  readonly headers: IncomingMessage['headers']
}

/** The answer: JSON with status 200, or whatever the function does with the response. */
export type Behaviour = (call: HeardCall, response: ServerResponse) => unknown

export interface HostileServer {
  readonly url: string
  readonly calls: HeardCall[]
  /** Calls whose connection was closed before they had an answer. */
  readonly abandoned: HeardCall[]
  behave(behaviour: Behaviour): void
  close(): Promise<void>
}

/** Answers nothing, ever. */
export const silence = Symbol('silence')

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

export async function startHostileServer(behaviour: Behaviour, port = 0): Promise<HostileServer> {
  let current = behaviour
  const calls: HeardCall[] = []
  const abandoned: HeardCall[] = []
  const server = createServer(async (request, response) => {
    // A response hears of its connection's end a moment after the server has.
    const isGone = () => response.destroyed || request.socket.destroyed
    const text = await bodyOf(request).catch((thrown) => {
      if (isGone()) return undefined
      throw thrown
    })
    if (text === undefined) return
    const call = {
      path: request.url ?? '',
      body: text === '' ? undefined : JSON.parse(text),
      headers: request.headers,
    }
    calls.push(call)
    response.once('close', () => {
      if (!response.writableEnded) abandoned.push(call)
    })
    const answer = await Promise.resolve(current(call, response)).catch((thrown) => {
      // A server that ends takes its work with it: no one waits for this answer any more.
      if (isGone()) return silence
      throw thrown
    })
    if (answer === silence || response.headersSent || isGone()) return
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    abandoned,
    behave(other) {
      current = other
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
