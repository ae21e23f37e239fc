/** Answers of vLLM and SGLang in the forms that their servers give them, and what they are asked. */
import { describe, expect, it } from 'vitest'
import { sglangProtocol } from '../dialects/sglang.ts'
import { vllmProtocol } from '../dialects/vllm.ts'
import sglangRecord from '../engines/fixtures/sglang-0.5.23.json' with { type: 'json' }
import vllmRecord from '../engines/fixtures/vllm-0.32.0.json' with { type: 'json' }
import { checkedAnswer } from './checked-answer.ts'
import type { Ask, ServerProtocol } from './server-protocol.ts'

const ask: Ask = {
  id: 'demo/g1/s0/a0/t2-1',
  context: Int32Array.of(1, 2, 3),
  maxNewTokens: 4,
  temperature: 0.8,
  stopTokens: [7],
  seed: 0xffffffff,
  alternatives: 0,
}

const { answer: vllmAnswer } = vllmRecord
const { answer: sglangAnswer } = sglangRecord

interface Recorded {
  readonly name: string
  readonly protocol: ServerProtocol
  readonly answer: object
}

const recorded: readonly Recorded[] = [
  { name: 'vLLM', protocol: vllmProtocol, answer: vllmAnswer },
  { name: 'SGLang', protocol: sglangProtocol, answer: sglangAnswer },
]

describe.each(recorded)('an answer of $name', ({ protocol, answer }) => {
  it('is read with tokens, logprobs, alternatives and what was cached', () => {
    const read = protocol.read(answer, ask)
    expect(read).toMatchObject({
      tokens: [5, 6, 7],
      logprobs: [-0.25, -1.5, -0.125],
      promptTokens: 3,
      cachedTokens: 2,
    })
    expect(read.alternatives[0]).toEqual([
      { token: 5, logprob: -0.25 },
      { token: 9, logprob: -2 },
    ])
    expect(checkedAnswer(read, { ask, version: 3, vocabulary: 10, name: 'it' })).toEqual({
      version: 3,
      tokens: Int32Array.of(5, 6, 7),
      logprobs: Float32Array.of(-0.25, -1.5, -0.125),
      finish: 'stop',
    })
  })

  it('in another form is refused', () => {
    expect(() => protocol.read({ error: { message: 'no' } }, ask)).toThrow()
  })
})

// [VLLM-1]
it('vLLM is asked for the temperature alone, whatever the model’s own settings are', () => {
  expect(vllmProtocol.request(ask)).toEqual({
    path: '/v1/completions',
    body: {
      request_id: 'demo/g1/s0/a0/t2-1',
      prompt: [1, 2, 3],
      max_tokens: 4,
      temperature: 0.8,
      top_p: 1,
      top_k: 0,
      min_p: 0,
      repetition_penalty: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      seed: 0x7fffffff,
      stop_token_ids: [7],
      ignore_eos: true,
      skip_special_tokens: false,
      logprobs: 1,
      return_token_ids: true,
      return_tokens_as_token_ids: true,
    },
  })
})

// [VLLM-2]
it('vLLM whose weights are replaced is asked where it tells which of them sampled, and shares no cache between them', () => {
  const weights = 'demo@7-0123abcd'
  const { path, body } = vllmProtocol.request({ ...ask, weights }) as { path: string; body: object }
  expect(path).toBe('/inference/v1/generate')
  expect(body).toMatchObject({ token_ids: [1, 2, 3], cache_salt: 'demo:7-0123abcd' })
  expect(body).toMatchObject({
    sampling_params: { max_tokens: 4, temperature: 0.8, top_p: 1, top_k: 0, ignore_eos: true, logprobs: 1 },
  })
})

// [SGLANG-1]
it('SGLang is asked for the temperature alone, and for the logprobs of what it samples', () => {
  expect(sglangProtocol.request(ask).body).toMatchObject({
    rid: 'demo/g1/s0/a0/t2-1;',
    input_ids: [1, 2, 3],
    sampling_params: { top_p: 1, top_k: -1, min_p: 0, ignore_eos: true, stop_token_ids: [7] },
    return_logprob: true,
    top_logprobs_num: 0,
  })
})

it('a logprob of another token than the one that was sampled is none', () => {
  const swapped = structuredClone(sglangAnswer)
  swapped.meta_info.output_token_logprobs[1] = [-1.5, 9, null]
  const read = sglangProtocol.read(swapped, ask)
  expect(() => checkedAnswer(read, { ask, version: 3, vocabulary: 10, name: 'it' })).toThrow('logprob NaN')
})

it('an answer to another context is refused', () => {
  const other = structuredClone(vllmAnswer)
  ;(other.choices[0] as { prompt_token_ids: number[] }).prompt_token_ids = [1, 2, 4]
  const read = vllmProtocol.read(other, ask)
  expect(() => checkedAnswer(read, { ask, version: 3, vocabulary: 10, name: 'it' })).toThrow(
    'another context',
  )
})
