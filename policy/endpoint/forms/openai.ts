/** Parts that OpenAI's forms share: parameters, errors, log-probabilities, usage. */
import { z } from 'zod'
import { chance } from '../../../machine/services/chance.ts'
import { clock } from '../../../machine/services/clock.ts'
import type { SampledTokens } from '../../engines/engine.ts'
import type { AnsweringModel } from '../asked.ts'
import { type Answer, tokensOf, type Wish } from '../asked.ts'
import type { Failure } from '../request-fault.ts'
import { commentEvent, eventText, type Form } from './form.ts'
import { requestOf, sampling, unused } from './request-body.ts'

/** Parameters of chat and text completions. */
export const completionShape = {
  ...sampling,
  model: z.string(),
  n: z.int().min(1).max(64).nullish(),
  stop: z.tuple([]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  return_token_ids: z.boolean().nullish(),
  return_tokens_as_token_ids: z.boolean().nullish(),
  ...unused(
    'user',
    'metadata',
    'store',
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'cache_salt',
    'priority',
    'request_id',
  ),
}
const completionSchema = requestOf(completionShape)
type CompletionParameters = z.output<typeof completionSchema>

export function wishOf(request: CompletionParameters, maxTokens: number | undefined): Wish {
  const { temperature, seed, n } = request
  return { maxTokens, temperature: temperature ?? 1, seed: seed ?? undefined, count: n ?? 1 }
}

export function errorBody({ status, message, param, code }: Failure): object {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param, code } }
}

/** How the streams of chat and text completions live and end early. */
export const completionStream: Pick<Form, 'errorBody' | 'errorEvents' | 'keepAlive'> = {
  errorBody,
  errorEvents: (failure) => eventText(errorBody(failure)),
  keepAlive: commentEvent,
}

/** Chunks as events; where usage is asked for, the others carry none. */
export function chunkEvents(
  chunks: readonly object[],
  { stream_options: options }: Pick<CompletionParameters, 'stream_options'>,
  last: object,
): string {
  const hasUsage = options?.include_usage === true
  const events = chunks.map((chunk) => eventText(hasUsage ? { ...chunk, usage: null } : chunk))
  return [...events, ...(hasUsage ? [eventText(last)] : []), eventText('[DONE]')].join('')
}

/** Tokens that answers took. */
export function usageOf(answers: readonly Answer[]) {
  const { prompt, completion } = tokensOf(answers)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** Log-probabilities in the form of chat completions. */
export function chatLogprobs(
  { tokenizer }: AnsweringModel,
  { tokens, logprobs }: SampledTokens,
  asIds: boolean,
) {
  return {
    content: [...tokens].map((token, index) => ({
      token: tokenName(tokenizer, token, asIds),
      logprob: logprobs[index] ?? 0,
      bytes: [...tokenizer.bytesOf(token)],
      top_logprobs: [],
    })),
    refusal: null,
  }
}

export function tokenName(tokenizer: AnsweringModel['tokenizer'], token: number, asIds: boolean): string {
  return asIds ? `token_id:${token}` : tokenizer.decode([token])
}

/** A new name. @example newId('call_') */
export function newId(prefix: string): string {
  return `${prefix}${chance.uuid().replaceAll('-', '').slice(0, 24)}`
}

/** Seconds since the epoch. */
export function now(): number {
  return Math.floor(clock.now() / 1000)
}
