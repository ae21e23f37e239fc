import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf, type ServedForm, serveForm } from '../../../client/serving/served.testing.ts'
import { Chat } from '../../chat/chat.ts'
import { compactAddedTokens } from '../../templates/compact-template.ts'
import { trainTokenizer } from '../../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../tokenizer/tokenizer.ts'
import { countForm, messagesForm } from './messages.ts'

const path = '/v1/messages'
const tools = [
  {
    name: 'act',
    description: 'Acts.',
    input_schema: { type: 'object', properties: { x: { type: 'number' } } },
  },
]
const request = {
  model: 'demo',
  max_tokens: 6,
  seed: 3,
  system: [{ type: 'text', text: 'You look.', cache_control: { type: 'ephemeral' } }],
  messages: [{ role: 'user', content: 'look around' }],
  tools,
}
let served: ServedForm

beforeAll(async () => {
  served = await serveForm()
})

afterAll(() => served[Symbol.asyncDispose]())

function readText(body: string) {
  const { asked } = messagesForm.read(JSON.parse(body), body)
  return asked.prompts[0]
}

// [MESSAGES-1] [MESSAGES-2]
test('blocks become the messages of an episode, their numbers as they were written', () => {
  const body = JSON.stringify({
    ...request,
    messages: [
      ...request.messages,
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I act.' },
          { type: 'tool_use', id: 'toolu_1', name: 'act', input: { x: 'NUMBER' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: false,
            content: [{ type: 'text', text: 'a lamp' }],
          },
          { type: 'text', text: 'Take ' },
          { type: 'text', text: 'it.' },
        ],
      },
      { role: 'system', content: 'Hurry.' },
    ],
  }).replace('"NUMBER"', '86.0')
  expect(readText(body)).toEqual({
    messages: [
      { role: 'system', content: 'You look.' },
      { role: 'user', content: 'look around' },
      {
        role: 'assistant',
        content: 'I act.',
        tool_calls: [{ name: 'act', arguments: { x: 86 }, exactArguments: '{"x":86.0}' }],
      },
      { role: 'tool', name: 'act', content: 'a lamp' },
      { role: 'user', content: 'Take it.' },
      { role: 'system', content: 'Hurry.' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'act', description: 'Acts.', parameters: tools[0]?.input_schema },
      },
    ],
  })
})

const tokenizer = Tokenizer.parse(
  trainTokenizer(['a lamp'], { vocabularySize: 320, addedTokens: compactAddedTokens([]) }),
)
const model = {
  id: 'demo@0',
  version: 0,
  contextLength: 256,
  checkpointDir: '',
  tokenizer,
  chat: new Chat('compact', tokenizer),
}

function written(wish: object, text: string, finish: 'stop' | 'length' = 'stop'): string {
  const body = JSON.stringify({ ...request, ...wish })
  const sample = { tokens: tokenizer.encode(text), logprobs: new Float32Array(), version: 0, finish }
  return messagesForm
    .read(JSON.parse(body), body)
    .write({ model, answers: [{ prompt: Int32Array.of(65), samples: [sample] }] })
}
const act = '<tool_call>{"name":"act","arguments":{"x":86.0}}</tool_call>'

// [MESSAGES-1] [MESSAGES-2]
test('an answer is text and calls, whole or as events', async () => {
  expect(written({}, `I act.${act}`)).toContain('"input":{"x":86.0}')
  expect(JSON.parse(written({}, `I act.${act}`))).toMatchObject({
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'text', text: 'I act.' },
      { type: 'tool_use', name: 'act', input: { x: 86 } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1 },
  })
  const events = await eventsOf(new Response(written({ stream: true }, act)))
  expect(events.map(({ event }) => event)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  expect(events[2]?.data).toEqual({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"x":86.0}' },
  })
})

test('an answer says why it ended', () => {
  const reason = (max: number, finish: 'stop' | 'length') =>
    JSON.parse(written({ max_tokens: max }, 'look', finish)).stop_reason
  const { length } = tokenizer.encode('look')
  expect([reason(9, 'stop'), reason(length, 'length'), reason(900, 'length')]).toEqual([
    'end_turn',
    'max_tokens',
    'model_context_window_exceeded',
  ])
})

test('a policy answers, whole and as a stream, also where more is asked for than the context has room', async () => {
  const { status, body } = await served.ask(path, request)
  const content = z.object({ content: z.array(z.looseObject({ type: z.literal('text'), text: z.string() })) })
  const [block] = content.parse(body).content
  expect({ status, body }).toMatchObject({ status: 200, body: { model: 'demo', stop_reason: 'max_tokens' } })
  const events = await eventsOf(await served.post(path, { ...request, stream: true }))
  expect(events).toContainEqual({
    event: 'content_block_delta',
    data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: block?.text } },
  })
  expect((await served.ask(path, { ...request, max_tokens: 32_000 })).status).toBe(200)
})

test('the tokens of a prompt are counted, also beyond the context', async () => {
  const { max_tokens: _, seed: __, ...prompt } = request
  const count = z.object({ input_tokens: z.int() })
  const counted = await served.ask(countForm.path, prompt)
  const usage = z.object({ usage: count }).parse((await served.ask(path, request)).body)
  expect(count.parse(counted.body)).toEqual({ input_tokens: usage.usage.input_tokens })
  const long = { ...prompt, messages: [{ role: 'user', content: 'look '.repeat(2000) }] }
  expect(count.parse((await served.ask(countForm.path, long)).body).input_tokens).toBeGreaterThan(2000)
})

// [ENDPOINT-1]
test.each([
  ['no limit of its tokens', { max_tokens: undefined }, 400, 'invalid_request_error', '`max_tokens`'],
  ['a parameter that would be ignored', { top_k: 5 }, 400, 'invalid_request_error', '`top_k`'],
  ['a parameter that no one knows', { tok_k: 5 }, 400, 'invalid_request_error', '`tok_k`'],
  [
    'thoughts',
    { thinking: { type: 'enabled', budget_tokens: 1024 } },
    400,
    'invalid_request_error',
    '`thinking.type`',
  ],
  ['a forced tool', { tool_choice: { type: 'any' } }, 400, 'invalid_request_error', '`tool_choice.type`'],
  [
    "a server's own tool",
    { tools: [{ type: 'web_search_20260209', name: 'web_search' }] },
    400,
    'invalid_request_error',
    '`tools.0.type`',
  ],
  [
    'an image',
    { messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] },
    400,
    'invalid_request_error',
    '`messages.0.content.0.type`',
  ],
  [
    'an answer to no call',
    { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x' }] }] },
    400,
    'invalid_request_error',
    '`messages.0.content.0.tool_use_id`',
  ],
  [
    'an answer that has begun',
    { messages: [...request.messages, { role: 'assistant', content: 'I' }] },
    400,
    'invalid_request_error',
    '`messages.1.role`',
  ],
  [
    'a prompt beyond the context',
    { messages: [{ role: 'user', content: 'look '.repeat(2000) }] },
    400,
    'invalid_request_error',
    'prompt is too long',
  ],
  ['a body beyond the limit', { system: 'a'.repeat(17 * 1024 * 1024) }, 413, 'request_too_large', 'larger'],
  ['an unknown model', { model: 'claude' }, 404, 'not_found_error', 'does not exist'],
])("%s is an error in Anthropic's form", async (_, wish, status, type, words) => {
  const answer = await served.ask(path, { ...request, ...wish })
  expect(answer).toEqual({
    status,
    body: { type: 'error', error: { type, message: expect.stringContaining(words) } },
  })
})
