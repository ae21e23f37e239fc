/**
 * What a server answered, checked against what it was asked for.
 *
 * Invariants
 * - [ANSWER-1] What comes back is an action as the contract of engines has it: each token with its own finite logprob,
 *   at most as many as asked, ended by the first stop token or by the limit.
 * - [ANSWER-2] An answer that cannot be one is refused as a whole, and the message says what is wrong with it. So a
 *   server that is broken, or serves something else, never puts a token into a trajectory.
 */
import { EngineFault, type SampledTokens } from './engine.ts'
import type { Answer, Ask } from './server-protocol.ts'

/** A token of e^−200 is never sampled: a logprob below is not that of a sampled one. */
const leastLogprob = -200
/** Rounding may take a probability a little above 1. */
const mostLogprob = 1e-3

interface Asked {
  readonly ask: Ask
  readonly version: number
  /** Token ids are below it. */
  readonly vocabulary: number
  /** The server's, in messages. */
  readonly name: string
}

/** @throws EngineFault `wrong_answer` */
export function checkedAnswer(answer: Answer, { ask, version, vocabulary, name }: Asked): SampledTokens {
  const { tokens, logprobs, promptTokens } = answer
  const wrong = (what: string): EngineFault =>
    new EngineFault('wrong_answer', `${name} ${what}; nothing of this answer is used`)
  if (promptTokens !== undefined && promptTokens !== ask.context.length)
    throw wrong(
      `read ${promptTokens} tokens of a context of ${ask.context.length}: it must neither add tokens of its own nor cut contexts`,
    )
  if (answer.prompt?.some((token, at) => token !== ask.context[at]))
    throw wrong('answered to another context than it was given')
  if (tokens.length === 0) throw wrong('answered with no token')
  if (tokens.length > ask.maxNewTokens)
    throw wrong(`answered with ${tokens.length} tokens where ${ask.maxNewTokens} were asked for at most`)
  if (logprobs.length !== tokens.length)
    throw wrong(`answered with ${tokens.length} tokens and ${logprobs.length} logprobs`)
  const strange = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabulary)
  if (strange !== undefined)
    throw wrong(`answered with token ${strange}, and the policy's vocabulary has ${vocabulary}`)
  const stop = tokens.findIndex((token) => ask.stopTokens.includes(token))
  const length = stop < 0 ? tokens.length : stop + 1
  const used = logprobs.slice(0, length).map((logprob) => {
    if (logprob === undefined) throw wrong('told no logprob for a token that it sampled')
    if (logprob >= leastLogprob && logprob <= mostLogprob) return Math.min(0, logprob)
    throw wrong(`gave a token the logprob ${logprob}`)
  })
  if (stop < 0 && tokens.length < ask.maxNewTokens)
    throw wrong(
      `ended after ${tokens.length} of ${ask.maxNewTokens} tokens with token ${tokens.at(-1)}, which ends no action of this policy: give the served model the ends of its chat format, and room for contexts of policy.contextLength`,
    )
  return {
    version,
    tokens: Int32Array.from(tokens.slice(0, length)),
    logprobs: Float32Array.from(used),
    finish: stop < 0 ? 'length' : 'stop',
  }
}
