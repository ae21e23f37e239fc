/** The types between forms and policy: the request that each form reads, and the answer that it writes. */
import type { Chat } from '../chat/chat.ts'
import type { SampledTokens } from '../engines/engine.ts'
import type { Tokenizer } from '../tokenizer/tokenizer.ts'
import type { Words } from './prompt-encoder.ts'

/** A request of any form, as the policy answers it. */
export interface Asked {
  /** `RUN`, or `RUN@7`; undefined means the newest version. */
  readonly model: string | undefined
  readonly prompts: readonly (Words | { readonly ids: readonly number[] })[]
  /** The field of the request that holds the prompts, by which an error names them. */
  readonly param: string
  /** Undefined where the prompts are only counted. */
  readonly wish: Wish | undefined
}

/** Sampling settings that all answers to a request share. */
export interface Wish {
  readonly maxTokens: number | undefined
  readonly temperature: number
  readonly seed: number | undefined
  readonly count: number
  /** Tokens that end an answer beside those of the policy's chat. */
  readonly stopTokens?: readonly number[]
  /** Whether an answer may have fewer tokens than `maxTokens` where the context ends before. */
  readonly isCut?: boolean
}

/** A prompt and its samples. */
export interface Answer {
  readonly prompt: Int32Array
  /** [samples]; none where the prompt was only counted. */
  readonly samples: readonly SampledTokens[]
}

/** The version that answers, as a form writes its answers. */
export interface AnsweringModel {
  /** `RUN@7`. */
  readonly id: string
  readonly chat: Chat
  readonly tokenizer: Tokenizer
}

/** The answers of the policy, before a form writes them. */
export interface Answered {
  readonly model: AnsweringModel
  /** [prompts] */
  readonly answers: readonly Answer[]
}

/** A longer prompt is not even counted; it is the longest context that a policy may be configured with. */
export const mostTokens = 1_048_576

/** Tokens that answers took; a prompt counts once. */
export function tokensOf(answers: readonly Answer[]): {
  readonly prompt: number
  readonly completion: number
} {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
  return {
    prompt: sum(answers.map(({ prompt }) => prompt.length)),
    completion: sum(answers.flatMap(({ samples }) => samples.map(({ tokens }) => tokens.length))),
  }
}
