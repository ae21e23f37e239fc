/**
 * The endpoint: an HTTP server with the APIs that agents speak, each form of `forms/` at its path.
 *
 * Invariants
 * - [ENDPOINT-1] Every failure is an error in the form that was asked in, with the parameter that is wrong where the form has a place for it.
 * - [ENDPOINT-2] Sampling for a client ends when the client leaves.
 * - No body is read beyond its bound.
 * - A streamed answer has the form of a stream, but its text arrives when the last token is sampled (`answer-stream.ts`).
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Context, Hono, type HonoRequest } from 'hono'
import { limitedBody } from '../../machine/network/body-limit.ts'
import { streamOf } from './answer-stream.ts'
import { chatForm } from './forms/chat.ts'
import { completionsForm } from './forms/completions.ts'
import type { Conversion, Form } from './forms/form.ts'
import { generateForm } from './forms/generate.ts'
import { countForm, messagesForm } from './forms/messages.ts'
import { jsonOf } from './forms/request-body.ts'
import { responsesForm } from './forms/responses.ts'
import { failureOf, RequestFault } from './request-fault.ts'
import { Retries, type Sent } from './retries.ts'

/** A request that has been read. */
export interface FormRequest extends Conversion {
  readonly form: Form
  /** The body. */
  readonly text: string
  /** The key that the client shows, as the header has it. */
  readonly credential: string | undefined
  /** Aborts when no client waits for the answer any more. */
  readonly signal: AbortSignal
}

export interface EndpointOptions {
  /** Bytes of a body at most. */
  readonly largestBody: number
  /** Why a request is refused before its body is read; undefined: it is not. */
  refusal(request: HonoRequest): RequestFault | undefined
  /** Hears of a request that no form could read. @param credential the key that the client shows */
  readonly onUnreadable?: (credential: string | undefined, error: unknown) => void
  /** @returns the body of the answer, or where it is streamed its events @throws RequestFault, EngineFault */
  answer(request: FormRequest): Promise<string>
  /** Adds routes beside those of the forms. */
  readonly routes?: (app: Hono) => void
}

/** An endpoint that listens. */
export interface ListeningEndpoint {
  /** `http://127.0.0.1:8000` */
  readonly root: string
  close(): Promise<void>
}

/** The form of an error at a path that no form has. */
const usualForm = chatForm

/** The routes of an endpoint. */
export function createEndpoint(options: EndpointOptions): Hono {
  const { largestBody, refusal, routes } = options
  const app = new Hono()
  const forms: readonly Form[] = [
    chatForm,
    completionsForm,
    responsesForm(),
    messagesForm,
    countForm,
    generateForm,
  ]
  const retries = new Retries()
  const failed = ({ req }: Context, error: unknown): Response => {
    const form = forms.find(({ path }) => path === req.path) ?? usualForm
    const failure = failureOf(error)
    return Response.json(form.errorBody(failure), { status: failure.status })
  }
  app.use(async (context, next) => {
    const refused = refusal(context.req)
    return refused === undefined ? next() : failed(context, refused)
  })
  const tooLarge = new RequestFault('too_large', `the body is larger than ${largestBody} bytes`)
  app.use(limitedBody(largestBody, (context) => failed(context, tooLarge)))
  routes?.(app)
  for (const form of forms)
    app.post(form.path, (context) => answered({ form, retries, ...options }, context.req))
  app.notFound((context) => {
    const { method, path } = context.req
    return failed(context, new RequestFault('unknown_path', `there is no ${method} ${path}`))
  })
  app.onError((error, context) => failed(context, error))
  return app
}

/** The key that a client shows; Anthropic's have a header of their own for it. */
export function credentialOf(req: HonoRequest): string | undefined {
  return req.header('authorization') ?? req.header('x-api-key')
}

async function answered(
  {
    form,
    retries,
    answer,
    onUnreadable,
  }: { readonly form: Form; readonly retries: Retries } & Pick<EndpointOptions, 'answer' | 'onUnreadable'>,
  req: HonoRequest,
): Promise<Response> {
  const text = await req.text()
  const credential = credentialOf(req)
  const conversion = read(form, text, (error) => onUnreadable?.(credential, error))
  const { isStreamed } = conversion
  const key = req.header('idempotency-key')
  const retry = req.header('x-stainless-retry-count')
  const sent: Sent = {
    parts: [form.path, credential ?? '', text],
    key,
    isRetry: Number(retry ?? 0) > 0,
    // Such clients do not try again once a stream has begun.
    mayReturn: key !== undefined || (retry !== undefined && !isStreamed),
    signal: req.raw.signal,
  }
  const said = retries.answer(sent, (signal) => answer({ ...conversion, form, text, credential, signal }))
  if (isStreamed) return streamOf(form, said)
  return new Response(await said, { headers: { 'content-type': 'application/json' } })
}

/** @throws RequestFault */
function read(form: Form, text: string, onUnreadable: (error: unknown) => void): Conversion {
  try {
    return form.read(jsonOf(text), text)
  } catch (error) {
    onUnreadable(error)
    throw error
  }
}

/** Listens, on any free port where it is 0. @throws the error of the socket, e.g. EADDRINUSE */
export async function listenAt(
  app: Hono,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<ListeningEndpoint> {
  // An agent works between its turns, and finds its connection as it left it.
  const serverOptions = { keepAliveTimeout: 120_000 }
  const server = serve({ fetch: app.fetch, hostname: host, port, serverOptions })
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  return {
    root: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await closed
    },
  }
}
