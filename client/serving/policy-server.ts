/**
 * The policy of a run behind OpenAI's API: `/v1/models`, `/v1/chat/completions`, `/v1/completions`.
 *
 * Invariants
 * - [SERVE-1] It listens on loopback, or asks for a token; a request without it, or from a page of another site, learns nothing.
 * - [SERVE-2] Every failure is an error in OpenAI's form, with the parameter that is wrong.
 * - [SERVE-3] Sampling for a client ends when the client leaves.
 * - [SERVE-4] No request keeps the others waiting while it is read: its body is bounded, and a long one becomes a prompt in a thread
 *   of its own.
 * - A streamed answer has the form of a stream, but its text arrives when the last token is sampled.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { reasonOf } from '../../faults/reason.ts'
import { limitedBody } from '../../machine/network/body-limit.ts'
import {
  hostToListenOn,
  knockOf,
  type ListeningPlace,
  notAvailable,
  type Objection,
  objectionTo,
} from '../../machine/network/listening.ts'
import { chance } from '../../machine/services/chance.ts'
import { clock } from '../../machine/services/clock.ts'
import { EngineFault } from '../../policy/engines/engine.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { ChatFault } from '../../policy/templates/template.ts'
import {
  type Answer,
  answerTo,
  chatLogprobs,
  completionLogprobs,
  messageOf,
  promptOfIds,
  textOf,
  tooLong,
  usageOf,
  type Wish,
} from './answer.ts'
import type { Borrowed } from './loaded-versions.ts'
import {
  type ChatRequest,
  type CompletionRequest,
  chatSchema,
  completionSchema,
  conversationOf,
  jsonOf,
  parseRequest,
  RequestFault,
  toolsOf,
} from './openai-request.ts'
import type { Words } from './prompt-encoder.ts'
import { openServedPolicy, type ServedModel, type ServedPolicy, type ServedRun } from './served-policy.ts'

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
  const host = hostToListenOn(options, '--host', 'PERDURE_SERVE_TOKEN')
  const policy = await openServedPolicy(options)
  const app = createApp(policy, { host, token: options.token })
  const server = serve({ fetch: app.fetch, hostname: host, port: options.port })
  try {
    await once(server, 'listening')
  } catch (error) {
    await policy[Symbol.asyncDispose]()
    throw notAvailable(error, '--port', options.port)
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/v1`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await closed
      await policy[Symbol.asyncDispose]()
    },
  }
}

function createApp(policy: ServedPolicy, place: ListeningPlace): Hono {
  const app = new Hono()
  app.use(async ({ req }, next) => {
    const objection = objectionTo(
      knockOf(req.method, (name) => req.header(name)),
      place,
    )
    return objection === undefined ? next() : failed(objections[objection])
  })
  const tooLarge = new RequestFault('too_large', `the body is larger than ${largestRequest} bytes`)
  app.use(limitedBody(largestRequest, () => failed(tooLarge)))
  app.get('/v1/models', async (context) =>
    context.json({ object: 'list', data: (await policy.names()).map(modelEntry) }),
  )
  app.get('/v1/models/:name', async (context) => {
    const name = context.req.param('name')
    if (!(await policy.names()).includes(name)) throw await unknownModel(policy, name)
    return context.json(modelEntry(name))
  })
  app.post('/v1/chat/completions', async (context) => {
    const text = await context.req.text()
    return completeChat({ context, policy, size: text.length }, parseRequest(jsonOf(text), chatSchema))
  })
  app.post('/v1/completions', async (context) => {
    const text = await context.req.text()
    return completeText({ context, policy, size: text.length }, parseRequest(jsonOf(text), completionSchema))
  })
  app.notFound(({ req }) => failed(new RequestFault('unknown_path', `there is no ${req.method} ${req.path}`)))
  app.onError((error) => failed(error))
  return app
}

function modelEntry(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'perdure' }
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

/** A request whose body has been read. */
interface Asked {
  readonly context: Context
  readonly policy: ServedPolicy
  /** Characters of the body. */
  readonly size: number
}

/** The model that a request names, for as long as it uses it. @throws RequestFault `unknown_model` */
async function modelOf(policy: ServedPolicy, name: string): Promise<Borrowed<ServedModel>> {
  try {
    const borrowed = await policy.borrow(name)
    if (borrowed !== undefined) return borrowed
  } catch (error) {
    // The run may have removed the version after it was found.
    if (!(error instanceof CheckpointFault && error.kind === 'missing')) throw error
  }
  throw await unknownModel(policy, name)
}

/** @throws RequestFault where there is no room for an answer */
async function promptOf({ context, policy, size }: Asked, model: ServedModel, words: Words) {
  const prompt = await policy.encode(model, words, size, context.req.raw.signal)
  if (prompt === undefined) throw tooLong(model, undefined)
  return prompt
}

async function unknownModel(policy: ServedPolicy, name: string): Promise<RequestFault> {
  const names = await policy.names()
  return new RequestFault(
    'unknown_model',
    `the model \`${name}\` does not exist; there are ${names.join(', ')}`,
    'model',
  )
}

const statuses: Record<RequestFault['kind'], { readonly status: number; readonly code: string | null }> = {
  bad_request: { status: 400, code: null },
  too_large: { status: 413, code: null },
  too_long: { status: 400, code: 'context_length_exceeded' },
  unknown_model: { status: 404, code: 'model_not_found' },
  unknown_path: { status: 404, code: null },
  no_key: { status: 401, code: 'invalid_api_key' },
  forbidden: { status: 403, code: null },
}

function failed(error: unknown): Response {
  const { status, body } = errorOf(error)
  return Response.json(body, { status })
}

function errorOf(error: unknown) {
  if (error instanceof EngineFault && error.kind === 'context_too_long')
    return errorOf(new RequestFault('too_long', error.message, 'messages'))
  if (error instanceof ChatFault) return errorOf(new RequestFault('bad_request', error.message, 'messages'))
  if (error instanceof RequestFault) {
    const { status, code } = statuses[error.kind]
    return {
      status,
      body: { error: { message: error.message, type: 'invalid_request_error', param: error.param, code } },
    }
  }
  return {
    status: 500,
    body: { error: { message: reasonOf(error), type: 'server_error', param: null, code: null } },
  }
}

function wishOf(request: ChatRequest | CompletionRequest, maxTokens: number | undefined): Wish {
  const { temperature, seed, n } = request
  return { maxTokens, temperature: temperature ?? 1, seed: seed ?? undefined, count: n ?? 1 }
}

async function completeChat(asked: Asked, request: ChatRequest): Promise<Response> {
  const { context, policy } = asked
  const words = { messages: conversationOf(request), tools: toolsOf(request) }
  using borrowed = await modelOf(policy, request.model)
  const { model } = borrowed
  const prompt = await promptOf(asked, model, words)
  const wish = wishOf(request, request.max_completion_tokens ?? request.max_tokens ?? undefined)
  const head = {
    id: `chatcmpl-${chance.uuid()}`,
    created: now(),
    model: request.model,
    system_fingerprint: model.id,
  }
  const asIds = request.return_tokens_as_token_ids === true
  const ids = request.return_token_ids === true
  const answer = await answerTo(policy, model, { prompt, wish, signal: context.req.raw.signal })
  const choices = answer.samples.map((sample, index) => ({
    index,
    ...messageOf(model, sample),
    logprobs: request.logprobs === true ? chatLogprobs(model, sample, asIds) : null,
    ...(ids ? { token_ids: [...sample.tokens] } : {}),
  }))
  const promptIds = ids ? { prompt_token_ids: [...prompt] } : {}
  if (request.stream !== true)
    return context.json({
      ...head,
      object: 'chat.completion',
      choices,
      usage: usageOf([answer]),
      ...promptIds,
    })
  const chunk = { ...head, object: 'chat.completion.chunk' }
  const chunks = choices.flatMap(({ index, message, finish_reason, logprobs, ...tokens }) => {
    const { tool_calls: calls, role, content } = message
    const delta = {
      content,
      ...(calls === undefined ? {} : { tool_calls: calls.map((call, at) => ({ index: at, ...call })) }),
    }
    return [
      {
        ...chunk,
        ...promptIds,
        choices: [{ index, delta: { role, content: '' }, logprobs: null, finish_reason: null }],
      },
      { ...chunk, choices: [{ index, delta, logprobs, finish_reason: null, ...tokens }] },
      { ...chunk, choices: [{ index, delta: {}, logprobs: null, finish_reason }] },
    ]
  })
  return streamed(
    context,
    chunks,
    withUsage(request) ? { ...chunk, choices: [], usage: usageOf([answer]) } : undefined,
  )
}

async function completeText(asked: Asked, request: CompletionRequest): Promise<Response> {
  const { context, policy } = asked
  using borrowed = await modelOf(policy, request.model)
  const { model } = borrowed
  const wish = wishOf(request, request.max_tokens ?? 16)
  const head = {
    id: `cmpl-${chance.uuid()}`,
    object: 'text_completion',
    created: now(),
    model: request.model,
    system_fingerprint: model.id,
  }
  const asIds = request.return_tokens_as_token_ids === true
  const prompts = await Promise.all(
    promptsOf(request.prompt).map((prompt) =>
      typeof prompt === 'string' ? promptOf(asked, model, { text: prompt }) : promptOfIds(model, prompt),
    ),
  )
  const answers: Answer[] = await Promise.all(
    prompts.map((prompt) => answerTo(policy, model, { prompt, wish, signal: context.req.raw.signal })),
  )
  const choices = answers
    .flatMap(({ prompt, samples }) => samples.map((sample) => ({ prompt, sample })))
    .map(({ prompt, sample }, index) => ({
      index,
      text: textOf(model, sample),
      logprobs: request.logprobs == null ? null : completionLogprobs(model, sample, asIds),
      finish_reason: sample.finish,
      ...(request.return_token_ids === true
        ? { prompt_token_ids: [...prompt], token_ids: [...sample.tokens] }
        : {}),
    }))
  const [first] = answers
  const promptIds =
    request.return_token_ids === true && first !== undefined ? { prompt_token_ids: [...first.prompt] } : {}
  const usage = usageOf(answers)
  if (request.stream !== true) return context.json({ ...head, choices, usage, ...promptIds })
  const chunks = choices.map((choice) => ({ ...head, choices: [choice] }))
  return streamed(context, chunks, withUsage(request) ? { ...head, choices: [], usage } : undefined)
}

/** The prompts of a request, each a text or ids. */
function promptsOf(prompt: CompletionRequest['prompt']): readonly (string | readonly number[])[] {
  if (typeof prompt === 'string') return [prompt]
  return prompt.every((one) => typeof one === 'number') ? [prompt] : prompt
}

function withUsage({ stream_options: options }: ChatRequest | CompletionRequest): boolean {
  return options?.include_usage === true
}

/** Chunks as server-sent events; where usage is asked for, the others carry none. */
function streamed(context: Context, chunks: readonly object[], usage: object | undefined): Response {
  return streamSSE(context, async (stream) => {
    for (const chunk of chunks)
      await stream.writeSSE({ data: JSON.stringify(usage === undefined ? chunk : { ...chunk, usage: null }) })
    if (usage !== undefined) await stream.writeSSE({ data: JSON.stringify(usage) })
    await stream.writeSSE({ data: '[DONE]' })
  })
}

/** Seconds since the epoch. */
function now(): number {
  return Math.floor(clock.now() / 1000)
}
