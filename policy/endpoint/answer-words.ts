/**
 * The words of a sample: its text and its calls, which each form writes in its own way.
 *
 * Invariants
 * - [ANSWER-WORDS-1] No part of an answer is left out: calls are given where the whole answer can be read, else all of it is content.
 * - [ANSWER-WORDS-2] Only a client that wants one call at a time gets the first of several alone.
 */
import { argumentsText } from '../../messages/exact-arguments.ts'
import type { SampledTokens } from '../engines/engine.ts'
import type { AnsweringModel } from './asked.ts'

export interface AnswerWords {
  readonly content: string
  /** `arguments` is JSON text. */
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
  /** Why sampling stopped: at the end of the answer, with calls in it, or at the most tokens. */
  readonly finish: 'stop' | 'calls' | 'length'
}

/** An answer that cannot be read as a whole is text. */
export function wordsOf(
  model: AnsweringModel,
  sampled: Pick<SampledTokens, 'tokens' | 'finish'>,
  { oneCall = false }: { readonly oneCall?: boolean } = {},
): AnswerWords {
  const { message, problems } = model.chat.parseAction(sampled.tokens)
  const isRead = problems.length === 0
  const all = (isRead ? (message.tool_calls ?? []) : []).map((call) => ({
    name: call.name,
    arguments: argumentsText(call),
  }))
  const calls = oneCall ? all.slice(0, 1) : all
  return {
    content: isRead ? message.content : textOf(model, sampled),
    calls,
    finish: sampled.finish === 'length' ? 'length' : calls.length > 0 ? 'calls' : 'stop',
  }
}

/** The text of an answer, without the token that ended it. */
export function textOf(
  { chat, tokenizer }: AnsweringModel,
  { tokens }: Pick<SampledTokens, 'tokens'>,
): string {
  const last = tokens.at(-1)
  const isEnded = last !== undefined && chat.stopTokens.includes(last)
  return tokenizer.decode(isEnded ? tokens.subarray(0, -1) : tokens)
}
