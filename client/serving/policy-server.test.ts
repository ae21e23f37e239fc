import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runId } from '../../identity/identity.ts'
import { openChat } from '../../policy/chat/chat.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { type PolicyServer, servePolicy } from './policy-server.ts'
import { homeWithRun } from './small-run.testing.ts'

/** In the place of a choice that is not there. */
const nothing = { token_ids: [], logprobs: null, finish_reason: null }

const run = 'demo'
let home: string
let server: PolicyServer

beforeAll(async () => {
  home = await homeWithRun(run)
  server = await servePolicy({ home, run, port: 0, log: () => undefined })
})

afterAll(async () => {
  await server.close()
  await rm(home, { recursive: true, force: true })
})

const answerSchema = z.object({
  data: z.array(z.looseObject({ id: z.string() })).default([]),
  system_fingerprint: z.string().default(''),
  prompt_token_ids: z.array(z.int()).default([]),
  choices: z
    .array(
      z.looseObject({
        index: z.int(),
        token_ids: z.array(z.int()).default([]),
        finish_reason: z.string().nullable(),
        logprobs: z
          .looseObject({
            content: z.array(z.unknown()).default([]),
            token_logprobs: z.array(z.number()).default([]),
          })
          .nullable(),
      }),
    )
    .default([]),
  usage: z.record(z.string(), z.int()).default({}),
  error: z.unknown().optional(),
})

const messages = [{ role: 'user', content: 'look around' }]

const json = { 'content-type': 'application/json' }

function post(path: string, body: string, headers: Record<string, string> = json): Promise<Response> {
  return fetch(`${server.url}${path}`, { method: 'POST', headers, body })
}

async function ask(path: string, body: object) {
  const response = await post(path, JSON.stringify(body))
  return { status: response.status, body: answerSchema.parse(await response.json()) }
}

async function errorOf(response: Promise<Response>) {
  const { status, body } = await response.then(async (each) => ({
    status: each.status,
    body: await each.json(),
  }))
  return { status, ...z.object({ error: z.looseObject({ message: z.string() }) }).parse(body).error }
}

// [LOADED-1]
test('versions that are asked for at once are all answered, also when they are more than are held', async () => {
  const later = [1, 2, 3, 4, 5, 6]
  const many = await homeWithRun(run, later)
  const versions = await servePolicy({ home: many, run, port: 0, log: () => undefined })
  try {
    const answered = async (index: number, wish: object) => {
      const body = { model: `demo@${index % 7}`, messages, temperature: 1, seed: index, ...wish }
      const response = await fetch(`${versions.url}/chat/completions`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify(body),
      })
      const { system_fingerprint: by } = answerSchema.parse(await response.json())
      return { status: response.status, isOwn: by === body.model }
    }
    for (const version of [0, 1, 2, 3]) await answered(version, { max_tokens: 1 })
    const answers = await Promise.all(
      Array.from({ length: 21 }, (_, index) => answered(index, { max_tokens: 200, n: 8 })),
    )
    expect(answers).toEqual(answers.map(() => ({ status: 200, isOwn: true })))
  } finally {
    await versions.close()
    await rm(many, { recursive: true, force: true })
  }
})

// [SERVED-POLICY-1]
test('a run is a model of its newest version, and each version is one', async () => {
  const { data } = answerSchema.parse(await (await fetch(`${server.url}/models`)).json())
  expect(data.map(({ id }) => id)).toEqual(['demo', 'demo@3', 'demo@0'])
  const { body } = await ask('/chat/completions', { model: 'demo', messages, max_tokens: 1 })
  expect(body.system_fingerprint).toBe('demo@3')
})

// [PROMPT-1] [SERVED-ANSWER-2]
test('a conversation is answered from the tokens that an episode has, the same again with a seed', async () => {
  const chat = await openChat(homeAt(home).run(runId(run)).checkpointDir(0))
  const conversation = [
    ...messages,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'act', arguments: '{"command":"look"}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'a lamp' },
  ]
  const context = [...chat.encodeTurn([], [{ role: 'user', content: 'look around' }])]
  context.push(
    ...chat.encodeAssistant({
      role: 'assistant',
      content: '',
      tool_calls: [{ name: 'act', arguments: { command: 'look' } }],
    }),
  )
  context.push(...chat.encodeTurn(context, [{ role: 'tool', name: 'act', content: 'a lamp' }]))
  const request = {
    model: 'demo',
    messages: conversation,
    seed: 5,
    max_tokens: 8,
    logprobs: true,
    return_token_ids: true,
  }
  const { body } = await ask('/chat/completions', request)
  expect(body.prompt_token_ids).toEqual(context)
  const [{ token_ids: ids, logprobs, finish_reason: reason } = nothing] = body.choices
  expect(logprobs?.content).toHaveLength(ids.length)
  expect(['stop', 'length', 'tool_calls']).toContain(reason)
  expect(body.usage).toEqual({
    prompt_tokens: context.length,
    completion_tokens: ids.length,
    total_tokens: context.length + ids.length,
  })
  const again = await ask('/chat/completions', request)
  expect(again.body.choices[0]?.token_ids).toEqual(ids)
})

test('log-probabilities are those of the policy at the asked temperature', async () => {
  const request = {
    model: 'demo@0',
    prompt: [65, 66, 67],
    temperature: 0.5,
    seed: 1,
    max_tokens: 6,
    logprobs: 1,
    return_token_ids: true,
  }
  const { body } = await ask('/completions', request)
  const [{ token_ids: ids, logprobs } = nothing] = body.choices
  const trainer = createTrainer({ threads: 1 })
  const tokens = Int32Array.of(65, 66, 67, ...ids)
  const expected = await trainer.logprobs({
    checkpointDir: homeAt(home).run(runId(run)).checkpointDir(0),
    tokens,
    offsets: Int32Array.of(0, tokens.length),
    lossMask: Uint8Array.from(tokens, (_, i) => (i < 3 ? 0 : 1)),
    temperature: 0.5,
    microBatchTokens: 64,
  })
  await trainer.close()
  expect(logprobs?.token_logprobs).toHaveLength(ids.length)
  for (const [i, logprob] of (logprobs?.token_logprobs ?? []).entries())
    expect(logprob).toBeCloseTo(expected[i + 3] as number, 4)
})

test('completions take texts and token ids, several at once, and count what they took', async () => {
  const { body } = await ask('/completions', { model: 'demo', prompt: [[65], [66, 67]], n: 2, max_tokens: 2 })
  expect(body.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
  expect(body.usage.prompt_tokens).toBe(3)
  const text = await ask('/completions', { model: 'demo', prompt: 'look around', max_tokens: 1 })
  expect(text.status).toBe(200)
})

test('an answer comes as a stream where it is asked for, with its usage last', async () => {
  const response = await post(
    '/chat/completions',
    JSON.stringify({
      model: 'demo',
      messages,
      seed: 2,
      max_tokens: 4,
      stream: true,
      stream_options: { include_usage: true },
    }),
  )
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const lines = (await response.text()).split('\n\n').filter((line) => line !== '')
  expect(lines.at(-1)).toBe('data: [DONE]')
  const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)))
  expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '' })
  expect(chunks.at(-2).choices[0].finish_reason).not.toBeNull()
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } })
})

// [ENDPOINT-1] [REQUEST-1]
describe('a request that cannot be answered gets an error in the form of the API', () => {
  const chat = { model: 'demo', messages }
  test.each([
    ['an unknown model', { ...chat, model: 'gpt-4' }, 404, 'model_not_found', 'model'],
    ['a version that is not kept', { ...chat, model: 'demo@9' }, 404, 'model_not_found', 'model'],
    ['no messages', { model: 'demo', messages: [] }, 400, null, 'messages'],
    ['a parameter that would be ignored', { ...chat, top_p: 0.5 }, 400, null, 'top_p'],
    ['a parameter that no one knows', { ...chat, tok_p: 1 }, 400, null, 'tok_p'],
    ['a forced tool', { ...chat, tool_choice: 'required' }, 400, null, 'tool_choice'],
    ['too long an answer', { ...chat, max_tokens: 300 }, 400, 'context_length_exceeded', 'messages'],
    [
      'an answer to no call',
      { model: 'demo', messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] },
      400,
      null,
      'messages.0.tool_call_id',
    ],
  ])('%s', async (_, request, status, code, param) => {
    const { status: found, body } = await ask('/chat/completions', request)
    expect({ found, error: body.error }).toEqual({
      found: status,
      error: { message: expect.any(String), type: 'invalid_request_error', param, code },
    })
  })

  // [SERVED-ANSWER-1]
  test.each([
    ['an empty text', ''],
    ['an empty list', []],
    ['an empty list of ids', [[]]],
    ['an empty text among others', ['look', '']],
    ['an id that is a token in its last 32 bits alone', [2 ** 32 + 65]],
    ['the same within a list', [[65], [2 ** 32 + 65]]],
    ['an id beyond the vocabulary', [99_999]],
    ['a negative id', [-1]],
  ])('the prompt is %s', async (_, prompt) => {
    expect(await errorOf(post('/completions', JSON.stringify({ model: 'demo', prompt })))).toMatchObject({
      status: 400,
      param: 'prompt',
      type: 'invalid_request_error',
    })
  })

  // [REQUEST-2]
  test.each([
    [
      'a tool',
      (deep: string) => `"tools":[{"type":"function","function":{"name":"f","parameters":{"a":${deep}}}}]`,
    ],
    ['a parameter that is not used', (deep: string) => `"metadata":${deep}`],
    [
      'the arguments of a call',
      (deep: string) =>
        `"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":${JSON.stringify(`{"a":${deep}}`)}}}]}]`,
    ],
  ])('%s nested 5000-fold', async (_, part) => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
    const body = `{"model":"demo","messages":[{"role":"user","content":"x"}],${part(deep)}}`
    expect(await errorOf(post('/chat/completions', body))).toMatchObject({
      status: 400,
      message: expect.stringContaining('nested deeper than 128 levels'),
    })
  })

  test('a body beyond the limit, with and without its length given before', async () => {
    const body = JSON.stringify({ model: 'demo', prompt: 'a'.repeat(17 * 1024 * 1024) })
    expect(await errorOf(post('/completions', body))).toMatchObject({ status: 413 })
    const streamed = fetch(`${server.url}/completions`, {
      method: 'POST',
      headers: json,
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(await errorOf(streamed)).toMatchObject({ status: 413 })
  })

  test('no JSON, and no such path', async () => {
    const broken = await post('/chat/completions', '{')
    expect({ status: broken.status, body: await broken.json() }).toMatchObject({
      status: 400,
      body: { error: { message: 'the body is no JSON' } },
    })
    expect((await ask('/embeddings', {})).status).toBe(404)
  })
})

test('a seed of more than 32 bits is another one than its last 32 bits', async () => {
  const answers = await Promise.all(
    [11, 2 ** 32 + 11, 2 ** 32 + 11, -11].map((seed) =>
      ask('/completions', { model: 'demo', prompt: [65], seed, max_tokens: 60, return_token_ids: true }),
    ),
  )
  const [plain, high, again, negative] = answers.map(({ body }) => body.choices[0]?.token_ids)
  expect(high).toEqual(again)
  expect(high).not.toEqual(plain)
  expect(negative).not.toEqual(plain)
})

// [SERVE-2] [PROMPT-THREAD-1]
test.each([
  ['many words', 'a '.repeat(4_000_000)],
  ['one word', 'a'.repeat(8_000_000)],
])('a prompt of %s in 8 MB is too long', async (_, prompt) => {
  expect(await errorOf(post('/completions', JSON.stringify({ model: 'demo', prompt })))).toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
  })
  const conversation = { model: 'demo', messages: [{ role: 'user', content: prompt }] }
  expect(await errorOf(post('/chat/completions', JSON.stringify(conversation)))).toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
  })
})

test('a long request becomes the same prompt as a short one', async () => {
  const request = { model: 'demo', messages, max_tokens: 2, return_token_ids: true }
  const short = await ask('/chat/completions', request)
  const long = await ask('/chat/completions', { ...request, metadata: 'x'.repeat(100_000) })
  expect(long.body.prompt_token_ids).toEqual(short.body.prompt_token_ids)
})

// [SERVE-1]
describe('who may ask', () => {
  test.each([
    ['with its origin', { origin: 'http://evil.example' }],
    ['with an origin that it hides', { origin: 'null' }],
    ['as browsers mark it', { 'sec-fetch-site': 'cross-site' }],
    ['from another port of this machine', { 'sec-fetch-site': 'same-site' }],
  ])('a page of another site gets no answer: %s', async (_, headers) => {
    const body = JSON.stringify({ model: 'demo', messages, max_tokens: 1 })
    expect(await errorOf(post('/chat/completions', body, { ...json, ...headers }))).toMatchObject({
      status: 403,
    })
    expect((await fetch(`${server.url}/models`, { headers })).status).toBe(403)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
    'a body of type %s, which any page may send, is not read',
    async (type) => {
      const body = JSON.stringify({ model: 'demo', messages, max_tokens: 1 })
      const error = await errorOf(post('/chat/completions', body, { 'content-type': type }))
      expect(error).toMatchObject({ status: 400, message: expect.stringContaining('application/json') })
    },
  )

  test('another host than loopback needs a token', async () => {
    await expect(servePolicy({ home, run, port: 0, host: '0.0.0.0', log: () => undefined })).rejects.toThrow(
      'PERDURE_SERVE_TOKEN',
    )
  })

  test('what comes without the token learns nothing', async () => {
    const guarded = await servePolicy({
      home,
      run,
      port: 0,
      token: 'a token of some length',
      log: () => undefined,
    })
    try {
      const without = await fetch(`${guarded.url}/models`)
      expect({ status: without.status, body: await without.json() }).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_api_key' } },
      })
      const headers = { authorization: 'Bearer a token of some length' }
      expect((await fetch(`${guarded.url}/models`, { headers })).status).toBe(200)
    } finally {
      await guarded.close()
    }
  })
})

// [ENDPOINT-2]
test('a client that leaves does not keep the server from answering others', async () => {
  const leaving = new AbortController()
  const left = fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ model: 'demo', messages, n: 64, max_tokens: 200 }),
    signal: leaving.signal,
  })
  leaving.abort()
  await expect(left).rejects.toThrow()
  expect((await ask('/chat/completions', { model: 'demo', messages, max_tokens: 1 })).status).toBe(200)
})
