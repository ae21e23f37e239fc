/**
 * vLLM's form of tokens in and tokens out, by which trainers outside roll out on the policy.
 *
 * Invariants
 * - [GENERATE-1] The tokens of an answer are the sampled ones, the last included, each with its log-probability where they are asked for.
 */
import { z } from 'zod'
import { chance } from '../../../machine/services/chance.ts'
import type { SampledTokens } from '../../engines/engine.ts'
import type { Answered } from '../asked.ts'
import type { Failure } from '../request-fault.ts'
import { commentEvent, eventText, type Form } from './form.ts'
import { chunkEvents, usageOf } from './openai.ts'
import { parseRequest, requestOf, sampling, tokenCount, tokenIds, unused } from './request-body.ts'

const mostStopTokens = 64

const samplingSchema = requestOf({
  ...sampling,
  n: z.int().min(1).max(64).nullish(),
  max_tokens: tokenCount.nullish(),
  min_tokens: z.literal(0).nullish(),
  stop: z.tuple([]).nullish(),
  stop_token_ids: tokenIds.refine((ids) => ids.length <= mostStopTokens, 'there are too many').nullish(),
  bad_words: z.tuple([]).nullish(),
  ignore_eos: z.literal(false).nullish(),
  logprobs: z.int().min(0).max(1).nullish(),
  // They are about texts, and an answer has none.
  ...unused(
    'detokenize',
    'skip_special_tokens',
    'spaces_between_special_tokens',
    'include_stop_str_in_output',
    'output_kind',
  ),
})

const schema = requestOf({
  model: z.string().nullish(),
  token_ids: tokenIds,
  sampling_params: samplingSchema,
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  request_id: z.string().max(200).nullish(),
  ...unused('cache_salt', 'priority', 'return_token_ids'),
})

type GenerateRequest = z.output<typeof schema>

export const generateForm: Form = {
  path: '/inference/v1/generate',
  errorBody,
  errorEvents: (failure) => eventText(errorBody(failure)) + eventText('[DONE]'),
  keepAlive: commentEvent,
  read(body) {
    const request = parseRequest(body, schema)
    const { n, max_tokens: maxTokens, temperature, seed, stop_token_ids: stops } = request.sampling_params
    return {
      asked: {
        model: request.model ?? undefined,
        prompts: [{ ids: request.token_ids }],
        param: 'token_ids',
        wish: {
          maxTokens: maxTokens ?? undefined,
          temperature: temperature ?? 1,
          seed: seed ?? undefined,
          count: n ?? 1,
          stopTokens: stops ?? [],
        },
      },
      isStreamed: request.stream === true,
      write: (answered) => written(request, answered),
    }
  },
}

const errorTypes: Readonly<Record<number, string>> = {
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  500: 'InternalServerError',
}

function errorBody({ status, message, param }: Failure): object {
  return { error: { message, type: errorTypes[status] ?? 'BadRequestError', param, code: status } }
}

function written(request: GenerateRequest, { answers }: Answered): string {
  const [{ prompt, samples } = { prompt: [], samples: [] }] = answers
  const id = request.request_id ?? chance.uuid()
  const withLogprobs = request.sampling_params.logprobs != null
  const choices = samples.map((sample, index) => ({
    index,
    token_ids: [...sample.tokens],
    logprobs: withLogprobs ? logprobsOf(sample) : null,
    finish_reason: sample.finish,
  }))
  const usage = usageOf(answers)
  if (request.stream !== true)
    return JSON.stringify({ request_id: id, prompt_token_ids: [...prompt], choices, usage })
  const chunks = choices.map((choice) => ({ request_id: id, choices: [choice] }))
  return chunkEvents(chunks, request, { request_id: id, choices: [], usage })
}

function logprobsOf({ tokens, logprobs }: SampledTokens) {
  return {
    content: [...tokens].map((token, index) => ({
      token: `token_id:${token}`,
      logprob: logprobs[index],
      bytes: null,
      top_logprobs: [],
    })),
  }
}
