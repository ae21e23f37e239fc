/** A server of MCP that misbehaves when it is asked one of its requests: a program with `METHOD TRICK`, or over HTTP in this process. */
import { spawn } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

/** Requests of a session, in their order. */
export const methods = ['initialize', 'tools/list', 'tools/call'] as const

interface Asked {
  readonly id: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly arguments?: Record<string, unknown> }
}

const tool = {
  name: 'say',
  description: 'Says.',
  inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} },
}

const results: Readonly<Record<string, unknown>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'faulty', version: '1' },
  },
  'tools/list': { tools: [tool] },
  'tools/call': { content: [{ type: 'text', text: 'said' }] },
}

const answer = ({ id, method }: Asked, result: unknown = results[method] ?? {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, result })

/** Answers that are none, by their names. */
const lies: Readonly<Record<string, (asked: Asked) => string>> = {
  garbage: () => 'hello',
  other: (asked) => answer({ ...asked, id: asked.id + 1000 }),
  shapeless: (asked) => answer(asked, { tools: 'none', content: 'none', protocolVersion: 7 }),
  empty: (asked) => answer(asked, {}),
  nothing: (asked) => answer(asked, 7),
  pages: (asked) => answer(asked, { tools: [], nextCursor: 'more' }),
  many: (asked) =>
    answer(asked, { tools: Array.from({ length: 10_000 }, (_, at) => ({ ...tool, name: `t${at}` })) }),
  endless: () => 'x'.repeat(100_000_000),
  flood: () => `${'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'.repeat(20_000)}`,
}

/** The server as a program. */
function main([method, trick = '']: readonly string[]): void {
  const say = (line: string) => process.stdout.write(`${line}\n`)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const asked = JSON.parse(line) as Asked
    if (asked.id === undefined) return
    const lie = lies[trick]
    if (asked.method !== method) say(answer(asked))
    else if (lie !== undefined) say(lie(asked))
    else if (trick === 'die') {
      process.stderr.write('the roof is on fire\n')
      process.exit(3)
    } else if (trick === 'escape') {
      // A session of its own, out of its group.
      const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
      say(answer(asked, { content: [{ type: 'text', text: String(child.pid) }] }))
    } else if (trick === 'refuse') {
      say(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: { code: -32603, message: 'not today' } }))
    } else process.kill(process.pid, 'SIGSTOP')
  })
}

/** Over HTTP; `ended` counts the sessions that were ended. */
export async function serveFaulty(
  method: string,
  trick: string,
): Promise<{ readonly url: string; readonly sessions: Set<string>; close(): Promise<void> }> {
  const sessions = new Set<string>()
  const server = createServer(async (request, response) => {
    const session = String(request.headers['mcp-session-id'])
    if (request.method === 'DELETE') {
      sessions.delete(session)
      return void response.writeHead(200).end()
    }
    const asked = JSON.parse(await text(request)) as Asked
    if (asked.id === undefined) return void response.writeHead(202).end()
    const id = asked.method === 'initialize' ? `s${sessions.size}` : session
    sessions.add(id)
    response.setHeader('mcp-session-id', id)
    response.setHeader('content-type', 'application/json')
    if (asked.method !== method) return void response.end(answer(asked))
    misbehave(asked, trick, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    sessions,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function misbehave(asked: Asked, trick: string, response: ServerResponse): void {
  const lie = lies[trick]
  if (lie !== undefined) response.end(lie(asked))
  else if (trick === 'die') response.destroy()
  else if (trick === 'status') response.writeHead(500).end('the roof is on fire')
  else if (trick === 'cut') {
    response.setHeader('content-type', 'text/event-stream')
    response.write('event: message\ndata: {"jsonrpc":')
    setImmediate(() => response.destroy())
  }
}

if (import.meta.main) main(process.argv.slice(2))
