/**
 * The codec server: decrypts payloads for the Temporal UI and CLI of a person who has the keys.
 *
 * Invariants
 * - It answers those who show the token: as a part of its address, since the UI has no other place for it, or as a
 *   bearer token.
 * - Pages of other origins than the UI's cannot read its answers.
 * - It decrypts and never encrypts, keeps nothing, and writes neither payloads nor tokens anywhere.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { z } from 'zod'
import { limitedBody } from '../machine/network/body-limit.ts'
import {
  hostToListenOn,
  type ListeningPlace,
  mayEnter,
  newToken,
  notAvailable,
} from '../machine/network/listening.ts'
import { type KeyRing, PayloadFault, payloadCodec } from './payload-encryption.ts'

export interface CodecServerOptions extends ListeningPlace {
  readonly keys: KeyRing
  /** 0 takes any free one. */
  readonly port: number
  /** Origins whose pages may read the answers. */
  readonly origins: readonly string[]
}

export interface CodecServer {
  /** The address to enter in the UI as its codec server. */
  readonly endpoint: string
  close(): Promise<void>
}

/** A history page holds a few MB at most. */
const largestRequest = 64 * 1024 * 1024
const base64 = z.base64().transform((text) => Buffer.from(text, 'base64'))
const requestSchema = z.object({
  payloads: z.array(z.object({ metadata: z.record(z.string(), base64).optional(), data: base64.optional() })),
})

/** Serves until it is closed. @throws ListeningFault */
export async function serveCodec(options: CodecServerOptions): Promise<CodecServer> {
  const host = hostToListenOn(options, '--host', 'PERDURE_CODEC_TOKEN')
  const token = options.token ?? newToken()
  const app = createApp({ ...options, host, token })
  const server = serve({ fetch: app.fetch, hostname: host, port: options.port })
  await once(server, 'listening').catch((error: unknown) => {
    throw notAvailable(error, '--port', options.port)
  })
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://${host.includes(':') ? `[${host}]` : host}:${port}/${token}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await closed
    },
  }
}

function createApp({
  host,
  token,
  keys,
  origins,
}: CodecServerOptions & { host: string; token: string }): Hono {
  const codec = payloadCodec(keys)
  const app = new Hono()
  app.use(
    cors({
      origin: [...origins],
      allowMethods: ['POST'],
      allowHeaders: ['Content-Type', 'X-Namespace', 'Authorization'],
    }),
  )
  app.use(
    limitedBody(largestRequest, (context) =>
      context.json({ message: `the body is larger than ${largestRequest} bytes` }, 413),
    ),
  )
  app.on('POST', ['/decode', '/:token/decode'], async (context) => {
    const shown = context.req.param('token')
    const authorization = shown === undefined ? context.req.header('authorization') : `Bearer ${shown}`
    if (!mayEnter({ host: context.req.header('host'), authorization }, { host, token }))
      return context.json({ message: 'the token is missing or wrong' }, 403)
    const request = requestSchema.safeParse(await context.req.json().catch(() => undefined))
    if (!request.success)
      return context.json({ message: 'expected {"payloads": [{"metadata", "data"}, …]}' }, 400)
    try {
      const payloads = await codec.decode(
        request.data.payloads.map(({ metadata = {}, data }) => ({
          metadata,
          ...(data === undefined ? {} : { data }),
        })),
      )
      return context.json({ payloads: payloads.map(asJson) })
    } catch (error) {
      if (!(error instanceof PayloadFault)) throw error
      return context.json({ message: error.message }, 422)
    }
  })
  return app
}

function asJson({
  metadata,
  data,
}: {
  metadata?: Record<string, Uint8Array> | null
  data?: Uint8Array | null
}) {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)])
  return { metadata: Object.fromEntries(entries), ...(data == null ? {} : { data: text(data) }) }
}
