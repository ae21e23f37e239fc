import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf, type ServedForm, serveForm } from '../../../client/serving/served.testing.ts'

const path = '/inference/v1/generate'
const request = {
  model: 'demo',
  token_ids: [65, 66, 67],
  sampling_params: {
    max_tokens: 6,
    seed: 3,
    logprobs: 1,
    stop_token_ids: [],
    skip_special_tokens: false,
  },
}
let served: ServedForm

beforeAll(async () => {
  served = await serveForm()
})

afterAll(() => served[Symbol.asyncDispose]())

const answerSchema = z.object({
  choices: z.array(
    z.looseObject({
      token_ids: z.array(z.int()),
      logprobs: z.object({ content: z.array(z.looseObject({ token: z.string(), logprob: z.number() })) }),
    }),
  ),
})

// [GENERATE-1]
test('tokens are answered by tokens, each with its log-probability', async () => {
  const { status, body } = await served.ask(path, { ...request, request_id: 'mine' })
  const [{ token_ids: ids, logprobs } = { token_ids: [], logprobs: { content: [] } }] =
    answerSchema.parse(body).choices
  expect(ids.length).toBeGreaterThan(0)
  expect(logprobs.content.map(({ token }) => token)).toEqual(ids.map((id) => `token_id:${id}`))
  expect({ status, body }).toMatchObject({
    status: 200,
    body: {
      request_id: 'mine',
      prompt_token_ids: [65, 66, 67],
      choices: [{ index: 0, finish_reason: 'length' }],
      usage: { prompt_tokens: 3, completion_tokens: ids.length, total_tokens: 3 + ids.length },
    },
  })
  const [, stop] = ids
  const { body: stopped } = await served.ask(path, {
    ...request,
    sampling_params: { ...request.sampling_params, stop_token_ids: [stop] },
  })
  const [first] = answerSchema.parse(stopped).choices
  expect(first).toMatchObject({ token_ids: ids.slice(0, ids.indexOf(stop ?? -1) + 1), finish_reason: 'stop' })
})

test('a stream has the same tokens, and its usage where it is asked for', async () => {
  const { body } = await served.ask(path, request)
  const stream = { ...request, stream: true, stream_options: { include_usage: true } }
  const events = await eventsOf(await served.post(path, stream))
  expect(events).toMatchObject([
    { data: { choices: [{ token_ids: answerSchema.parse(body).choices[0]?.token_ids }] } },
    { data: { choices: [], usage: { prompt_tokens: 3 } } },
    { data: '[DONE]' },
  ])
})

test('without a model the newest version answers, and the models have the length of their context', async () => {
  const { model: _, ...rest } = request
  expect((await served.ask(path, rest)).status).toBe(200)
  expect(await (await fetch(`${served.server.url}/models`)).json()).toMatchObject({
    data: [{ id: 'demo', max_model_len: 256 }, {}, {}],
  })
})

// [ENDPOINT-1]
test.each([
  ['no tokens', { ...request, token_ids: [] }, 'BadRequestError', 'token_ids'],
  ['a text in their place', { ...request, token_ids: 'look' }, 'BadRequestError', 'token_ids'],
  ['an id that is no token', { ...request, token_ids: [99_999] }, 'BadRequestError', 'token_ids'],
  [
    'more tokens than the context',
    { ...request, token_ids: Array(256).fill(65) },
    'BadRequestError',
    'token_ids',
  ],
  ['no settings', { ...request, sampling_params: undefined }, 'BadRequestError', 'sampling_params'],
  [
    'a setting that would be ignored',
    { ...request, sampling_params: { top_p: 0.9 } },
    'BadRequestError',
    'sampling_params.top_p',
  ],
  [
    'a setting that no one knows',
    { ...request, sampling_params: { tok_p: 0.9 } },
    'BadRequestError',
    'sampling_params.tok_p',
  ],
  ['images', { ...request, features: { mm_hashes: {} } }, 'BadRequestError', 'features'],
  ['an unknown model', { ...request, model: 'gpt-4' }, 'NotFoundError', 'model'],
])('%s is an error in the form of vLLM', async (_, body, type, param) => {
  const answer = await served.ask(path, body)
  const message = expect.any(String)
  expect(answer.body).toEqual({ error: { message, type, param, code: answer.status } })
})
