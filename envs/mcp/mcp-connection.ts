/**
 * A conversation with one MCP server, over its standard input and output or over HTTP. The only file that imports the SDK.
 *
 * Invariants
 * - [MCP-1] A request ends: with its answer, or within its limit with a fault that names the server and the request. Whatever is no
 *   answer to it (the end of the process, no JSON, another form, another request's number) ends the conversation at once.
 * - [MCP-2] A refusal in the protocol's form, such as wrong arguments, is the server's answer; the conversation continues.
 * - [MCP-3] Memory and work are bounded: between two requests a server writes 16 MiB, or 10,000 messages, at most.
 * - [MCP-4] Closing ends the session: the process with all that it started, also what left its group; a session over HTTP by DELETE.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type ClientRequest,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { type ChildCommand, excerptOf, LineChild } from '../../machine/processes/line-child.ts'
import { endMarked, markVariable } from '../../machine/processes/process-group.ts'
import { clock } from '../../machine/services/clock.ts'
import type { JsonObject } from '../../messages/message.ts'
import { readJson } from '../../messages/read-json.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import type { DescribedTool } from '../remote/base/remote-tools.ts'
import { answerBytes, excerpt, textOf } from '../remote/base/server.ts'

/** A server: a program, or an address. */
export type McpPlace =
  /** @param mark in the environment of all that it starts; no other has it */
  | { readonly shown: string; readonly command: ChildCommand; readonly mark: string }
  | { readonly shown: string; readonly url: URL; readonly headers: Readonly<Record<string, string>> }

/** The result of a call. */
export interface McpResult {
  readonly content: readonly unknown[]
  readonly structuredContent?: unknown
  readonly isError: boolean
}

/** A refusal in the protocol's form. */
export interface McpRefusal {
  readonly refusal: string
}

/** The transport of a server, and how it is given up. */
interface Wire {
  readonly transport: Transport
  /** Forgets what was received: a request is sent. */
  begin(): void
  /** @returns the reason with the last words of the server */
  lose(reason: string): string
  end(): Promise<void>
}

type LostKind = 'backend' | 'session_lost'

/** A program may take so long to leave after its input has ended, and a server to hear that a session has. */
const leaveMs = 1000
/** The SDK's own limit, which must never come first. */
const noLimit = 2 ** 31 - 1
const mostPages = 100
/** Messages between two requests: progress and logs of a call. */
const mostMessages = 10_000
/** Letters of a refusal; it is a sentence. */
const mostRefused = 2000
/** Tools that are read before a selection of them; far more than any server has. */
const mostListed = 20_000

const listedSchema = z.object({
  tools: z.array(
    z.looseObject({ name: z.string(), description: z.string().default(''), inputSchema: z.unknown() }),
  ),
  nextCursor: z.string().optional(),
})
const resultSchema = z
  .looseObject({
    content: z.array(z.looseObject({ type: z.string() })).optional(),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().default(false),
  })
  .refine(({ content, structuredContent }) => content !== undefined || structuredContent !== undefined, {
    message: 'neither content nor structuredContent',
  })

export class McpConnection {
  readonly #shown: string
  readonly #client = new Client({ name: 'perdure', version: '1' }, { capabilities: {} })
  readonly #wire: Wire
  readonly #gone = Promise.withResolvers<never>()
  #lost: string | undefined

  private constructor(place: McpPlace) {
    this.#shown = place.shown
    this.#gone.promise.catch(() => undefined)
    this.#client.onerror = (error) => this.#lose(`broke the protocol: ${reasonOf(error)}`)
    this.#wire = 'command' in place ? programWire(place, (reason) => this.#note(reason)) : addressWire(place)
  }

  /** Opens a session. @param signal gives up @throws EnvironmentFault `backend` */
  static async open(place: McpPlace, withinMs: number, signal?: AbortSignal): Promise<McpConnection> {
    const connection = new McpConnection(place)
    const giveUp = () => connection.#lose('was ended')
    if (signal?.aborted === true) giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      const { transport } = connection.#wire
      await connection.#within('initialize', withinMs, () =>
        connection.#client.connect(transport, { timeout: noLimit }),
      )
      return connection
    } catch (cause) {
      connection.#note(`refused the session: ${reasonOf(cause)}`)
      await connection.close()
      throw connection.#fault('backend', cause)
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  /** All tools of the server. @throws EnvironmentFault `backend` */
  async tools(withinMs: number): Promise<readonly DescribedTool[]> {
    const end = clock.monotonic() + withinMs
    const found: DescribedTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < mostPages && found.length <= mostListed; page++) {
      const params: JsonObject = cursor === undefined ? {} : { cursor }
      const left = Math.max(1, Math.round(end - clock.monotonic()))
      const { tools, nextCursor } = await this.#ask('tools/list', params, listedSchema, left, 'backend')
      for (const { name, description, inputSchema } of tools)
        found.push({ name, description, parameters: inputSchema })
      if (nextCursor === undefined) return found
      cursor = nextCursor
    }
    this.#lose(`lists tools without end: ${found.length} on so many pages`)
    throw this.#fault('backend')
  }

  /** @throws EnvironmentFault `session_lost` */
  async call(name: string, given: JsonObject, withinMs: number): Promise<McpResult | McpRefusal> {
    try {
      const params = { name, arguments: given }
      const { content = [], ...rest } = await this.#ask(
        'tools/call',
        params,
        resultSchema,
        withinMs,
        'session_lost',
      )
      return { content, ...rest }
    } catch (cause) {
      if (cause instanceof McpError) return { refusal: cause.message.slice(0, mostRefused) }
      throw cause
    }
  }

  /** Asks whether the server is still there. @throws EnvironmentFault `session_lost` */
  async check(withinMs: number): Promise<void> {
    try {
      await this.#ask('ping', {}, z.unknown(), withinMs, 'session_lost')
    } catch (cause) {
      if (!(cause instanceof McpError)) throw cause
    }
  }

  /** Ends the session; may be called twice. */
  async close(): Promise<void> {
    this.#note('was ended')
    await this.#wire.end()
    await this.#client.close()
  }

  /** @throws McpError the server's refusal; EnvironmentFault */
  async #ask<Schema extends z.ZodType>(
    method: string,
    params: JsonObject,
    schema: Schema,
    withinMs: number,
    lost: LostKind,
  ): Promise<z.output<Schema>> {
    try {
      return await this.#within(method, withinMs, async () => {
        const result = await this.#client.request({ method, params } as ClientRequest, z.looseObject({}), {
          timeout: noLimit,
        })
        const read = schema.safeParse(result)
        if (read.success) return read.data
        const wrong = z.prettifyError(read.error).replaceAll(/\s+/g, ' ').slice(0, 300)
        this.#lose(`answered ${method} with ${excerptOf(JSON.stringify(result))}: ${wrong}`)
        throw read.error
      })
    } catch (cause) {
      if (cause instanceof McpError && !this.isLost && lost === 'session_lost') throw cause
      throw this.#fault(lost, cause)
    }
  }

  async #within<Result>(method: string, withinMs: number, work: () => Promise<Result>): Promise<Result> {
    if (this.#lost !== undefined) throw new Error(this.#lost)
    this.#wire.begin()
    const late = clock.after(withinMs, () =>
      this.#lose(`did not answer ${method} within ${withinMs / 1000} s`),
    )
    try {
      const done = work()
      // The loss may come first.
      done.catch(() => undefined)
      return await Promise.race([done, this.#gone.promise])
    } finally {
      late.cancel()
    }
  }

  /** Gives the server up; the first reason is kept. */
  #lose(reason: string): void {
    if (this.#lost === undefined) this.#note(this.#wire.lose(reason))
  }

  #note(reason: string): void {
    if (this.#lost !== undefined) return
    this.#lost = reason
    this.#gone.reject(new Error(reason))
  }

  #fault(kind: LostKind, cause?: unknown): EnvironmentFault {
    const reason = this.#lost ?? `failed: ${reasonOf(cause)}`
    return new EnvironmentFault(kind, `${this.#shown} ${reason}`, { cause })
  }
}

function programWire(
  { command, mark }: { readonly command: ChildCommand; readonly mark: string },
  onLost: (reason: string) => void,
): Wire {
  let received = 0
  let messages = 0
  let lostWords: string | undefined
  const child = new LineChild(
    { ...command, env: { ...command.env, [markVariable]: mark } },
    {
      onLine(line) {
        received += line.length
        if (++messages > mostMessages) return child.lose(`wrote more than ${mostMessages} messages`)
        if (received > answerBytes) return child.lose(`wrote more than ${answerBytes} characters`)
        const message = messageOf(line)
        if (message === undefined)
          child.lose(`wrote to its standard output what is no message of MCP: ${excerptOf(line)}`)
        else transport.onmessage?.(message)
      },
      onLost(reason) {
        lostWords = reason
        onLost(reason)
        transport.onclose?.()
      },
    },
  )
  const transport: Transport = {
    start: async () => undefined,
    send: async (message) => child.write(JSON.stringify(message)),
    close: async () => transport.onclose?.(),
  }
  return {
    transport,
    begin() {
      received = 0
      messages = 0
    },
    lose(reason) {
      child.lose(reason)
      return lostWords ?? reason
    },
    async end() {
      await child.end({ withinMs: leaveMs })
      await endMarked(mark)
    },
  }
}

function messageOf(line: string): JSONRPCMessage | undefined {
  return JSONRPCMessageSchema.safeParse(readJson(line)).data
}

function addressWire({
  url,
  headers,
}: {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}): Wire {
  let received = 0
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { ...headers } },
    async fetch(address, init) {
      // The stream for messages without a request is of no use here, and would be one more connection for each episode.
      if (init?.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
        return new Response(null, { status: 405 })
      const response = await fetch(address, init)
      if (response.body === null) return response
      const { status, statusText, headers: given } = response
      // A stream of streams costs half a millisecond, and most answers are one piece.
      if (given.get('content-type')?.startsWith('text/event-stream') !== true)
        return new Response(await textOf(response), { status, statusText, headers: given })
      const bounded = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          received += chunk.byteLength
          if (received <= answerBytes) controller.enqueue(chunk)
          else controller.error(new RangeError(`it answered with more than ${answerBytes} bytes`))
        },
      })
      return new Response(response.body.pipeThrough(bounded), { status, statusText, headers: given })
    },
  })
  return {
    transport: transport as Transport,
    begin() {
      received = 0
    },
    lose: (reason) => excerpt(reason),
    async end() {
      const ended = transport.terminateSession().catch(() => undefined)
      const waiting = new AbortController()
      const late = clock.sleep(leaveMs, { signal: waiting.signal }).catch(() => undefined)
      await Promise.race([ended, late])
      waiting.abort()
      await transport.close()
    },
  }
}
