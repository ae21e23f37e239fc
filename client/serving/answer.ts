/**
 * Answers of a served policy: samples after a prompt, and their words in OpenAI's form.
 *
 * Invariants
 * - [SERVED-ANSWER-1] A prompt is used unchanged; an empty prompt, an unknown token id, or a prompt that leaves no room is
 *   refused.
 * - [SERVED-ANSWER-2] The same request with a seed gives the same answer.
 * - [SERVED-ANSWER-3] No part of an answer is left out: calls are given where the whole answer can be read, else all of it is content.
 * - Log-probabilities are those at the asked temperature; at 0, those at 1.
 */
import { seedOf } from '../../identity/identity.ts'
import { chance } from '../../machine/services/chance.ts'
import { argumentsText } from '../../messages/exact-arguments.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import type { SampledTokens } from '../../policy/engines/engine.ts'
import { RequestFault } from './openai-request.ts'
import type { ServedModel, ServedPolicy } from './served-policy.ts'

/** Sampling settings that all answers to a request share. */
export interface Wish {
  readonly maxTokens: number | undefined
  readonly temperature: number
  readonly seed: number | undefined
  readonly count: number
}

/** A prompt and its samples. */
export interface Answer {
  readonly prompt: Int32Array
  /** [samples] */
  readonly samples: readonly SampledTokens[]
}

/** Ids of a request as a prompt. @throws RequestFault for an id that is no token */
export function promptOfIds({ tokenizer }: ServedModel, ids: readonly number[]): Int32Array {
  const unknown = ids.find((id) => !tokenizer.has(id))
  if (unknown === undefined) return Int32Array.from(ids)
  throw new RequestFault('bad_request', `\`prompt\`: there is no token ${unknown}`, 'prompt')
}

/** @param tokens of the prompt; undefined where it is too long to be counted */
export function tooLong(
  { contextLength }: ServedModel,
  tokens: number | undefined,
  asked?: number,
): RequestFault {
  const found = tokens === undefined ? 'more' : `${tokens} in its prompt`
  return new RequestFault(
    'too_long',
    `the context is ${contextLength} tokens at most, and this request has ${found}${asked === undefined ? '' : ` and asks for ${asked}`}`,
    'messages',
  )
}

/** Samples answers to a prompt. @throws RequestFault for one that does not fit, EngineFault */
export async function answerTo(
  policy: ServedPolicy,
  model: ServedModel,
  {
    prompt,
    wish,
    signal,
  }: { readonly prompt: Int32Array; readonly wish: Wish; readonly signal: AbortSignal },
): Promise<Answer> {
  const room = model.contextLength - prompt.length
  const { maxTokens = room, temperature, seed, count } = wish
  if (room < 1 || maxTokens > room) throw tooLong(model, prompt.length, wish.maxTokens)
  if (prompt.length === 0)
    throw new RequestFault(
      'bad_request',
      '`prompt`: it is empty, and the first token needs one before it',
      'prompt',
    )
  const drawn = seed ?? chance.below(2 ** 32)
  const samples = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      policy.sample(
        model,
        {
          context: prompt,
          maxNewTokens: maxTokens,
          temperature,
          seed: answerSeed(drawn, index),
          stopTokens: model.chat.stopTokens,
        },
        signal,
      ),
    ),
  )
  return { prompt, samples }
}

/** The seed of an answer; every bit of the request's seed counts, and those of 32 bits are taken as they are. */
function answerSeed(seed: number, index: number): number {
  const high = Math.floor(seed / 2 ** 32)
  return high === 0 ? seedOf(seed, index) : seedOf(seed, index, high)
}

/** The message of an answer, and why sampling stopped. An answer that cannot be read as a whole is text. */
export function messageOf(model: ServedModel, sampled: SampledTokens) {
  const { finish, tokens } = sampled
  const { message, problems } = model.chat.parseAction(tokens)
  const isRead = problems.length === 0
  const calls = isRead ? callsOf(message) : []
  const content = isRead ? message.content : textOf(model, sampled)
  return {
    message: {
      role: 'assistant' as const,
      content: content === '' && calls.length > 0 ? null : content,
      refusal: null,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    finish_reason: finish === 'length' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
  }
}

function callsOf(message: AssistantMessage) {
  return (message.tool_calls ?? []).map((call) => ({
    id: `call_${chance.uuid().replaceAll('-', '').slice(0, 24)}`,
    type: 'function' as const,
    function: { name: call.name, arguments: argumentsText(call) },
  }))
}

/** The text of an answer, without the token that ended it. */
export function textOf({ chat, tokenizer }: ServedModel, { tokens }: SampledTokens): string {
  const last = tokens.at(-1)
  const isEnded = last !== undefined && chat.stopTokens.includes(last)
  return tokenizer.decode(isEnded ? tokens.subarray(0, -1) : tokens)
}

/** Log-probabilities in the form of chat completions. */
export function chatLogprobs(
  { tokenizer }: ServedModel,
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

/** Log-probabilities in the form of completions. */
export function completionLogprobs(
  { tokenizer }: ServedModel,
  { tokens, logprobs }: SampledTokens,
  asIds: boolean,
) {
  const texts = [...tokens].map((token) => tokenName(tokenizer, token, asIds))
  let at = 0
  return {
    tokens: texts,
    token_logprobs: [...logprobs],
    top_logprobs: null,
    text_offset: [...tokens].map((token) => {
      const offset = at
      at += tokenizer.decode([token]).length
      return offset
    }),
  }
}

function tokenName(tokenizer: ServedModel['tokenizer'], token: number, asIds: boolean): string {
  return asIds ? `token_id:${token}` : tokenizer.decode([token])
}

/** Tokens that answers took; a prompt counts once. */
export function usageOf(answers: readonly Answer[]) {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
  const prompt = sum(answers.map(({ prompt }) => prompt.length))
  const completion = sum(answers.flatMap(({ samples }) => samples.map(({ tokens }) => tokens.length)))
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}
