/** Clients that wait, leave and come back, over real connections to a policy that answers when the test says so. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen, type PolicyServer } from '../policy-server.ts'
import { scriptedPolicy } from '../scripted-policy.testing.ts'

interface Turn {
  readonly signal: AbortSignal | undefined
  readonly say: (text: string) => void
  readonly fail: (error: Error) => void
}

let server: PolicyServer
let turns: ReadableStreamDefaultReader<Turn>

beforeAll(async () => {
  const begun = new TransformStream<Turn, Turn>(undefined, undefined, { highWaterMark: 16 })
  const writer = begun.writable.getWriter()
  turns = begun.readable.getReader()
  const policy = scriptedPolicy((_, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    void writer.write({ signal, say: resolve, fail: reject })
    return promise
  })
  server = await listen(policy, { port: 0, token: 'a token of some length' })
})

afterAll(() => server.close())

async function nextTurn(): Promise<Turn> {
  const { value } = await turns.read()
  if (value === undefined) throw new Error('the turns have ended')
  return value
}

const asked = { model: 'demo', messages: [{ role: 'user', content: 'look' }], max_tokens: 64 }

function post(path: string, wish: object, init: RequestInit = {}): Promise<Response> {
  return fetch(server.url.replace(/\/v1$/, path), {
    method: 'POST',
    ...init,
    headers: { 'content-type': 'application/json', 'x-api-key': 'a token of some length', ...init.headers },
    body: JSON.stringify({ ...asked, ...wish }),
  })
}

const forms = [
  ['/v1/chat/completions', {}],
  ['/v1/messages', {}],
  ['/v1/responses', { messages: undefined, max_tokens: undefined, input: 'look' }],
  [
    '/inference/v1/generate',
    { messages: undefined, max_tokens: undefined, token_ids: [65], sampling_params: {} },
  ],
] as const

// [ENDPOINT-2] [ANSWER-STREAM-1]
test.each(forms)(
  '%s speaks while its turn is sampled, and frees it when the client leaves',
  async (path, wish) => {
    const leaving = new AbortController()
    const headers = { 'x-stainless-retry-count': '0' }
    const response = await post(path, { ...wish, stream: true }, { signal: leaving.signal, headers })
    const { value } = (await response.body?.getReader().read()) ?? {}
    expect(new TextDecoder().decode(value)).toMatch(/^(: |event: ping)/)
    const { signal } = await nextTurn()
    expect(signal?.aborted).toBe(false)
    leaving.abort()
    if (signal?.aborted === false) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
)

// [ANSWER-STREAM-2]
test.each(forms)('%s ends a stream that fails in its own shape', async (path, wish) => {
  const response = await post(path, { ...wish, stream: true })
  expect(response.status).toBe(200)
  const { fail } = await nextTurn()
  fail(new Error('the engine is closed'))
  const text = await response.text()
  const shapes = {
    '/v1/chat/completions': '"type":"server_error"',
    '/v1/messages': 'event: error\ndata: {"type":"error","error":{"type":"api_error"',
    '/v1/responses': 'event: response.failed\n',
    '/inference/v1/generate': '"type":"InternalServerError"',
  }
  expect(text).toContain(shapes[path])
  expect(text).toContain('the engine is closed')
})

// [RETRIES-1] [RETRIES-2]
test.each([
  ['with the same key', { 'idempotency-key': 'a' }, { 'idempotency-key': 'a' }],
  ['that says it is one', { 'x-stainless-retry-count': '0' }, { 'x-stainless-retry-count': '1' }],
])('a retry %s gets the bytes of the first answer', async (name, first, again) => {
  const wish = { user: name }
  const leaving = new AbortController()
  const left = post('/v1/chat/completions', wish, { headers: first, signal: leaving.signal })
  const { say } = await nextTurn()
  leaving.abort()
  await expect(left).rejects.toThrow()
  const back = post('/v1/chat/completions', wish, { headers: again })
  say('a lamp')
  const text = await (await back).text()
  expect(text).toContain('"content":"a lamp"')
  expect(await (await post('/v1/chat/completions', wish, { headers: again })).text()).toBe(text)
})

// [SERVE-1]
test('a key that is wrong is an error in the form that was asked in', async () => {
  const response = await post('/v1/messages', {}, { headers: { 'x-api-key': 'wrong' } })
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 401,
    body: { type: 'error', error: { type: 'authentication_error' } },
  })
})
