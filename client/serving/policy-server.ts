/**
 * The policy of a run behind the APIs that agents speak: each form of `forms/` at its path, and `/v1/models`.
 *
 * Invariants
 * - [SERVE-1] It listens on loopback, or asks for a token; a request without it, or from a page of another site, learns nothing.
 * - [SERVE-2] Every failure is an error in the form that was asked in, with the parameter that is wrong where the form has a place for it.
 * - [SERVE-3] Sampling for a client ends when the client leaves.
 * - [SERVE-4] No request keeps the others waiting while it is read: its body is bounded, and a long one becomes a prompt in a thread
 *   of its own.
 * - A streamed answer has the form of a stream, but its text arrives when the last token is sampled (`answer-stream.ts`).
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Context, Hono, type HonoRequest } from 'hono'
import { limitedBody } from '../../machine/network/body-limit.ts'
import {
  hostToListenOn,
  knockOf,
  type ListeningPlace,
  loopback,
  notAvailable,
  type Objection,
  objectionTo,
} from '../../machine/network/listening.ts'
import { answerTo, unknownModel } from './answer.ts'
import { streamOf } from './answer-stream.ts'
import { chatForm } from './forms/chat.ts'
import { completionsForm } from './forms/completions.ts'
import type { Form } from './forms/form.ts'
import { generateForm } from './forms/generate.ts'
import { countForm, messagesForm } from './forms/messages.ts'
import { jsonOf } from './forms/request-body.ts'
import { responsesForm } from './forms/responses.ts'
import { failureOf, RequestFault } from './request-fault.ts'
import { Retries, type Sent } from './retries.ts'
import { openServedPolicy, type ServedPolicy, type ServedRun } from './served-policy.ts'

/** The run to serve, and the address. */
export interface PolicyServerOptions extends ServedRun, ListeningPlace {
  /** 0 takes any free one. */
  readonly port: number
}

export interface PolicyServer {
  /** Base URL for clients: `http://127.0.0.1:8000/v1`. */
  readonly url: string
  close(): Promise<void>
}

/** A conversation of a million tokens as JSON. */
const largestRequest = 16 * 1024 * 1024

/** Serves until it is closed. @throws ListeningFault, SessionFault */
export async function servePolicy(options: PolicyServerOptions): Promise<PolicyServer> {
  const place = { ...options, host: hostToListenOn(options, '--host', 'PERDURE_SERVE_TOKEN') }
  return listen(await openServedPolicy(options), place)
}

/** Serves a policy that is open, and closes it at the end. @throws ListeningFault */
export async function listen(
  policy: ServedPolicy,
  { host = loopback, port, token }: ListeningPlace & { readonly port: number },
): Promise<PolicyServer> {
  const app = createApp(policy, { host, token })
  // An agent works between its turns, and finds its connection as it left it.
  const serverOptions = { keepAliveTimeout: 120_000 }
  const server = serve({ fetch: app.fetch, hostname: host, port, serverOptions })
  try {
    await once(server, 'listening')
  } catch (error) {
    await policy[Symbol.asyncDispose]()
    throw notAvailable(error, '--port', port)
  }
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}/v1`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await closed
      await policy[Symbol.asyncDispose]()
    },
  }
}

/** The form of an error at a path that no form has. */
const usualForm = chatForm

/** The routes of the server. @param place where it listens */
function createApp(policy: ServedPolicy, place: ListeningPlace): Hono {
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
    const { req } = context
    const objection = objectionTo(
      { ...knockOf(req.method, (name) => req.header(name)), authorization: credentialOf(req) },
      place,
    )
    return objection === undefined ? next() : failed(context, objections[objection])
  })
  const tooLarge = new RequestFault('too_large', `the body is larger than ${largestRequest} bytes`)
  app.use(limitedBody(largestRequest, (context) => failed(context, tooLarge)))
  const { contextLength } = policy
  // vLLM's name of the context's length, by which clients shorten a conversation before they ask.
  const entryOf = (id: string) => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'perdure',
    max_model_len: contextLength,
  })
  app.get('/v1/models', async (context) =>
    context.json({ object: 'list', data: (await policy.names()).map(entryOf) }),
  )
  app.get('/v1/models/:name', async (context) => {
    const name = context.req.param('name')
    if (!(await policy.names()).includes(name)) throw await unknownModel(policy, name)
    return context.json(entryOf(name))
  })
  for (const form of forms) app.post(form.path, (context) => answered(policy, { form, retries }, context))
  app.notFound((context) => {
    const { method, path } = context.req
    return failed(context, new RequestFault('unknown_path', `there is no ${method} ${path}`))
  })
  app.onError((error, context) => failed(context, error))
  return app
}

/** The key that a client shows; Anthropic's have a header of their own for it. */
function credentialOf(req: HonoRequest): string | undefined {
  return req.header('authorization') ?? req.header('x-api-key')
}

async function answered(
  policy: ServedPolicy,
  { form, retries }: { readonly form: Form; readonly retries: Retries },
  { req }: Context,
): Promise<Response> {
  const text = await req.text()
  const { asked, isStreamed, write } = form.read(jsonOf(text), text)
  const key = req.header('idempotency-key')
  const retry = req.header('x-stainless-retry-count')
  const sent: Sent = {
    parts: [form.path, credentialOf(req) ?? '', text],
    key,
    isRetry: Number(retry ?? 0) > 0,
    // Such clients do not try again once a stream has begun.
    mayReturn: key !== undefined || (retry !== undefined && !isStreamed),
    signal: req.raw.signal,
  }
  const answer = retries.answer(sent, async (signal) =>
    write(await answerTo(policy, asked, { size: text.length, signal })),
  )
  if (isStreamed) return streamOf(form, answer)
  return new Response(await answer, { headers: { 'content-type': 'application/json' } })
}

/** Why a request is refused before its body is read. */
const objections: Readonly<Record<Objection, RequestFault>> = {
  other_name: new RequestFault('forbidden', 'this server answers under its own name alone'),
  no_token: new RequestFault('no_key', 'the API key is missing or wrong: it is the token of the server'),
  other_site: new RequestFault('forbidden', 'pages of other sites may not ask'),
  not_json: new RequestFault(
    'bad_request',
    'requests are posted with the header `Content-Type: application/json`',
  ),
}
