/** An MCP server of the SDK, over standard input and output or over HTTP: `notes-server.testing.ts [http]` prints its port. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const names = ['add', 'note', 'link', 'variables', 'draw', 'fail', 'where', 'count', 'last'] as const
type Name = (typeof names)[number]
interface Given {
  readonly a?: number
  readonly b?: number
  readonly path?: string
  readonly text?: string
}

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })

/** A session; it counts its own calls. */
function notesServer(): Server {
  let calls = 0
  const server = new Server({ name: 'notes', version: '1' }, { capabilities: { tools: {} } })
  // One tool a page.
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    const at = Number(params?.cursor ?? 0)
    const inputSchema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' as const }
    return {
      tools: [{ name: names[at] ?? '', description: `Tool ${at}.`, inputSchema }],
      ...(at + 1 < names.length ? { nextCursor: String(at + 1) } : {}),
    }
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    calls++
    const { a = 0, b = 0, path = '', text: given = '' } = (params.arguments ?? {}) as Given
    const answers: Readonly<Record<Name, () => object>> = {
      add: () => ({ content: [], structuredContent: { sum: a + b } }),
      note() {
        writeFileSync(path, given)
        return text('noted')
      },
      link() {
        symlinkSync(given, path)
        mkdirSync(`${path}.folder`)
        return { content: [text('linked').content[0], { type: 'text', text: 'and made a folder' }] }
      },
      variables: () => text(JSON.stringify(process.env)),
      draw: () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }),
      fail: () => ({ ...text('it failed'), isError: true }),
      where: () => text(`in ${process.cwd()}`),
      count: () => text(String(calls)),
      last: () => text('z'.repeat(1_500_000)),
    }
    const answer = answers[params.name as Name]
    if (answer === undefined) throw new Error(`no tool ${params.name}`)
    return answer()
  })
  return server
}

async function overHttp(): Promise<void> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const listening = createServer(async (request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']))
    if (request.url === '/open') return void response.end(String(sessions.size))
    if (known !== undefined) return await known.handleRequest(request, response)
    if (request.headers.authorization !== 'Bearer a-token-of-a-test')
      return void response.writeHead(401).end('no token')
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    await notesServer().connect(transport as Parameters<Server['connect']>[0])
    await transport.handleRequest(request, response)
  })
  listening.listen(0, '127.0.0.1', () =>
    process.stdout.write(`${(listening.address() as AddressInfo).port}\n`),
  )
}

if (process.argv[2] === 'http') await overHttp()
else await notesServer().connect(new StdioServerTransport())
