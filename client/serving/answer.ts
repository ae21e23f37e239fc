/**
 * Answers of a served policy: prompts as tokens, samples, and what is said of them in OpenAI's form.
 *
 * Invariants
 * - [SERVED-ANSWER-1] A conversation becomes the tokens that an episode with the same messages has: each action closed as it
 *   is there, each turn rendered as there.
 * - [SERVED-ANSWER-2] The same request with a seed gives the same answer.
 * - Log-probabilities are those at the asked temperature; at 0, those at 1.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { seedOf } from '../../identity/identity.ts'
import { argumentsText } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import type { SampledTokens } from '../../policy/engines/engine.ts'
import { RequestFault } from './openai-request.ts'
import type { ServedModel, ServedPolicy } from './served-policy.ts'

/** What all answers to a request are sampled by. */
export interface Wish {
  readonly maxTokens: number | undefined
  readonly temperature: number
  readonly seed: number | undefined
  readonly count: number
}

/** A prompt with what was sampled after it. */
export interface Answer {
  readonly prompt: Int32Array
  /** [samples] */
  readonly samples: readonly SampledTokens[]
}

/** The tokens of a conversation, up to the prompt for the next action. */
export function promptOf(
  { chat }: ServedModel,
  messages: readonly Message[],
  tools: readonly ToolSpec[],
): Int32Array {
  const context: number[] = []
  let turn: Message[] = []
  let isFirst = true
  const encodeTurn = (): void => {
    for (const token of chat.encodeTurn(context, turn, isFirst ? tools : undefined)) context.push(token)
    turn = []
    isFirst = false
  }
  for (const message of messages) {
    if (message.role !== 'assistant') {
      turn.push(message)
      continue
    }
    encodeTurn()
    for (const token of chat.encodeAssistant(message)) context.push(token)
  }
  encodeTurn()
  return Int32Array.from(context)
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
  if (room < 1 || maxTokens > room)
    throw new RequestFault(
      'too_long',
      `the context is ${model.contextLength} tokens at most, and this request has ${prompt.length} in its prompt${wish.maxTokens === undefined ? '' : ` and asks for ${maxTokens}`}`,
      'messages',
    )
  const unknown = prompt.find((token) => token < 0 || token >= model.tokenizer.vocabularySize)
  if (unknown !== undefined)
    throw new RequestFault('bad_request', `\`prompt\`: there is no token ${unknown}`, 'prompt')
  const drawn = seed ?? randomInt(2 ** 32)
  const samples = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      policy.sample(
        model,
        {
          context: prompt,
          maxNewTokens: maxTokens,
          temperature,
          seed: seedOf(drawn, index),
          stopTokens: model.chat.stopTokens,
        },
        signal,
      ),
    ),
  )
  return { prompt, samples }
}

/** What the policy said, and why it stopped. */
export function messageOf({ chat }: ServedModel, { tokens, finish }: SampledTokens) {
  const { message } = chat.parseAction(tokens)
  const calls = callsOf(message)
  return {
    message: {
      role: 'assistant' as const,
      content: message.content === '' && calls.length > 0 ? null : message.content,
      refusal: null,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    finish_reason: finish === 'length' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
  }
}

function callsOf(message: AssistantMessage) {
  return (message.tool_calls ?? []).map((call) => ({
    id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
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
