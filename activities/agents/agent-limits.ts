/** Bounds of an episode that an agent's own program plays. */
import type { Asked } from '../../policy/endpoint/asked.ts'
import { RequestFault } from '../../policy/endpoint/request-fault.ts'

/** Bounds of one episode. */
export interface AgentLimits {
  readonly turnLimit: number
  /** Prompt and sampled tokens of all turns. */
  readonly tokenLimit: number
  /** Tokens of a context. */
  readonly contextLength: number
  /** Tokens of one answer. */
  readonly maxTokens: number
}

/** The tokens, where they are not too many; else undefined. */
export function within(most: number, tokens: Int32Array): Int32Array | undefined {
  return tokens.length <= most ? tokens : undefined
}

/** The words are those by which agents know that they have to shorten a conversation. */
export function tooLong({ contextLength, maxTokens }: AgentLimits, { param }: Asked): RequestFault {
  const words = `prompt is too long: the maximum context length is ${contextLength} tokens, of which an answer may take ${maxTokens}`
  return new RequestFault('too_long', words, param)
}
