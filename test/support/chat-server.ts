/**
 * A chat endpoint in OpenAI's form whose every answer a test decides, the bad ones too.
 *
 * Invariants
 * - Every request is on record, with what became of it.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { z } from 'zod'

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  temperature: z.number(),
  max_tokens: z.int(),
  seed: z.int(),
})

/** A request as the endpoint got it. */
export interface ChatCall {
  /** The last message. */
  readonly question: string
  readonly seed: number
  readonly temperature: number
  readonly authorization: string | undefined
  /** The reply in a word; undefined before there is one. */
  ending?: string
}

/** An answer, or what is done in its place. */
export type ChatReply =
  | { readonly text: string }
  /** Never answered. */
  | 'hang'
  /** The connection is cut without an answer. */
  | 'cut'
  /** JSON of another form. */
  | 'foreign'
  /** No JSON. */
  | 'garbage'
  | { readonly status: number }

export interface ChatServer extends AsyncDisposable {
  /** Base address for clients. */
  readonly url: string
  readonly calls: readonly ChatCall[]
}

/** @param reply decides on a request; `before` has those that came before it */
export async function serveChat(
  reply: (call: ChatCall, before: readonly ChatCall[]) => ChatReply | Promise<ChatReply>,
  port = 0,
): Promise<ChatServer> {
  const calls: ChatCall[] = []
  const server = createServer(async (request, response) => {
    const { messages, seed, temperature } = requestSchema.parse(await json(request))
    const { authorization } = request.headers
    const call: ChatCall = { question: messages.at(-1)?.content ?? '', seed, temperature, authorization }
    const before = [...calls]
    calls.push(call)
    const decided = await reply(call, before)
    call.ending = typeof decided === 'string' ? decided : 'text' in decided ? 'answer' : `${decided.status}`
    send(response, decided)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    calls,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function send(response: ServerResponse, reply: ChatReply): void {
  if (reply === 'hang') return
  if (reply === 'cut') return void response.destroy()
  if (reply === 'garbage') return void response.end('<html>a page</html>')
  if (reply === 'foreign') return void response.end('{"object":"list","data":[]}')
  if ('status' in reply) return void response.writeHead(reply.status).end('{"error":{"message":"no"}}')
  response.end(
    JSON.stringify({
      object: 'chat.completion',
      model: 'scripted-1',
      choices: [{ index: 0, message: { role: 'assistant', content: reply.text }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 2 },
    }),
  )
}
