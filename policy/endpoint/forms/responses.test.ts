import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf, type ServedForm, serveForm } from '../../../client/serving/served.testing.ts'
import { Chat } from '../../chat/chat.ts'
import { compactAddedTokens } from '../../templates/compact-template.ts'
import { trainTokenizer } from '../../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../tokenizer/tokenizer.ts'
import { responsesForm } from './responses.ts'

const path = '/v1/responses'
const tools = [
  { type: 'function', name: 'act', description: 'Acts.', parameters: { type: 'object' }, strict: true },
]
const request = {
  model: 'demo',
  instructions: 'You look.',
  input: 'look around',
  tools,
  seed: 3,
  max_output_tokens: 6,
}
let served: ServedForm

beforeAll(async () => {
  served = await serveForm()
})

afterAll(() => served[Symbol.asyncDispose]())

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
const responseSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  output: z.array(z.looseObject({ type: z.string(), call_id: z.string().optional() })),
})
const act = '<tool_call>{"name":"act","arguments":{"x":86.0}}</tool_call>'

/** A form with the answers that it is given. */
function conversing() {
  const form = responsesForm()
  const read = (wish: object) => {
    const body = JSON.stringify({ ...request, ...wish })
    return form.read(JSON.parse(body), body)
  }
  return {
    prompt: (wish: object) => read(wish).asked.prompts[0],
    answer(wish: object, text: string, finish: 'stop' | 'length' = 'stop'): string {
      const sample = { tokens: tokenizer.encode(text), logprobs: new Float32Array(), version: 0, finish }
      return read(wish).write({ model, answers: [{ prompt: Int32Array.of(65), samples: [sample] }] })
    },
  }
}

// [RESPONSES-1] [RESPONSES-2]
test('a response continues an earlier one without its instructions, while that is kept', () => {
  const { answer, prompt } = conversing()
  const first = responseSchema.parse(JSON.parse(answer({}, `I act.${act}`)))
  const call = first.output[1]?.call_id
  const output = {
    type: 'function_call_output',
    call_id: call,
    output: [{ type: 'input_text', text: 'a lamp' }],
  }
  const wish = {
    previous_response_id: first.id,
    instructions: 'Hurry.',
    input: [output, { role: 'user', content: 'Take it.' }],
  }
  expect(prompt(wish)).toEqual({
    messages: [
      { role: 'system', content: 'Hurry.' },
      { role: 'user', content: 'look around' },
      {
        role: 'assistant',
        content: 'I act.',
        tool_calls: [{ name: 'act', arguments: { x: 86 }, exactArguments: '{"x":86.0}' }],
      },
      { role: 'tool', name: 'act', content: 'a lamp' },
      { role: 'user', content: 'Take it.' },
    ],
    tools: [
      { type: 'function', function: { name: 'act', description: 'Acts.', parameters: { type: 'object' } } },
    ],
  })
  const second = responseSchema.parse(JSON.parse(answer({ ...wish, store: false }, 'look')))
  expect(() => prompt({ previous_response_id: second.id })).toThrow(second.id)
  expect(() => conversing().prompt(wish)).toThrow('is not kept')
})

// [RESPONSES-1]
test('items that are sent again make the same prompt as those that are kept', () => {
  const { answer, prompt } = conversing()
  const first = z
    .object({ id: z.string(), output: z.array(z.unknown()) })
    .parse(JSON.parse(answer({}, `I act.${act}`)))
  const next = { role: 'user', content: 'look' }
  expect(prompt({ input: [{ role: 'user', content: 'look around' }, ...first.output, next] })).toEqual(
    prompt({ previous_response_id: first.id, input: [next] }),
  )
})

test('an answer is items, whole or as events', async () => {
  const { answer } = conversing()
  expect(JSON.parse(answer({}, `I act.${act}`))).toMatchObject({
    object: 'response',
    status: 'completed',
    output: [
      { type: 'message', content: [{ type: 'output_text', text: 'I act.' }] },
      { type: 'function_call', name: 'act', arguments: '{"x":86.0}' },
    ],
    usage: { input_tokens: 1 },
  })
  expect(JSON.parse(answer({}, 'I', 'length'))).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  })
  const events = await eventsOf(new Response(answer({ stream: true }, `I${act}`)))
  expect(events.map(({ event }) => event)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.completed',
  ])
  expect(
    events.map(({ data }) => z.looseObject({ sequence_number: z.int() }).parse(data).sequence_number),
  ).toEqual(events.map((_, index) => index))
})

test('a stream that fails ends with an error and a failed response', async () => {
  const failure = { status: 500, message: 'the engine is closed', param: null, code: null }
  const events = await eventsOf(new Response(responsesForm().errorEvents(failure)))
  expect(events).toMatchObject([
    { event: 'error', data: { code: 'server_error', message: 'the engine is closed' } },
    { event: 'response.failed', data: { response: { error: { code: 'server_error' } } } },
  ])
})

test('a policy answers, and continues its answer', async () => {
  const { status, body } = await served.ask(path, request)
  const { id } = responseSchema.parse(body)
  const next = await served.ask(path, { ...request, previous_response_id: id, input: 'look' })
  expect([status, next.status]).toEqual([200, 200])
  expect(next.body).toMatchObject({ previous_response_id: id, model: 'demo' })
})

// [ENDPOINT-1]
test.each([
  ['nothing to answer', { input: undefined }, null, 'input'],
  ['a parameter that would be ignored', { truncation: 'auto' }, null, 'truncation'],
  ['a parameter that no one knows', { trunkation: 'auto' }, null, 'trunkation'],
  ['an effort', { reasoning: { effort: 'high' } }, null, 'reasoning.effort'],
  ['a schema of the answer', { text: { format: { type: 'json_schema' } } }, null, 'text.format.type'],
  ['log-probabilities', { include: ['message.output_text.logprobs'] }, null, 'include.0'],
  ['a tool of the server', { tools: [{ type: 'web_search' }] }, null, 'tools.0.type'],
  ['a thought', { input: [{ type: 'reasoning', summary: [] }] }, null, 'input.0.type'],
  ['an image', { input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, null, 'input.0.content'],
  [
    'an output of no call',
    { input: [{ type: 'function_call_output', call_id: 'x', output: '' }] },
    null,
    'input.0.call_id',
  ],
  [
    'arguments that are no JSON',
    { input: [{ type: 'function_call', call_id: 'x', name: 'act', arguments: '{' }] },
    null,
    'input.0.arguments',
  ],
  [
    'a response that is not kept',
    { previous_response_id: 'resp_1' },
    'previous_response_not_found',
    'previous_response_id',
  ],
  ['too long an input', { input: 'look '.repeat(2000) }, 'context_length_exceeded', 'input'],
])("%s is an error in OpenAI's form", async (_, wish, code, param) => {
  const message = expect.any(String)
  expect(await served.ask(path, { ...request, ...wish })).toEqual({
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param, code } },
  })
})
