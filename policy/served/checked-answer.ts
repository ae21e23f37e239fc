/**
 * A server's answer, checked against the request.
 *
 * Invariants
 * - [ANSWER-1] A checked answer is an action as the contract of engines has it: each token with its own finite logprob,
 *   at most as many as asked, ended by the first stop token or by the limit, or the beginning of one that the server cut.
 * - [ANSWER-2] An answer that cannot be one is refused as a whole, and the message says what is wrong with it. So a
 *   server that is broken, or serves something else, never puts a token into a trajectory.
 * - [ANSWER-3] Where weights are replaced, only tokens count that the asked ones sampled, up to the first of others.
 */
import { EngineFault, type SampledTokens } from '../engines/engine.ts'
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

/** The part of an answer that is used. */
export interface CheckedPart extends Pick<SampledTokens, 'tokens' | 'logprobs'> {
  /** `cut`: the server ended it before its end, or went on with other weights. */
  readonly end: SampledTokens['finish'] | 'cut'
}

/** The whole action. @throws EngineFault `wrong_answer`, `cut` */
export function checkedAnswer(answer: Answer, asked: Asked): SampledTokens {
  const { end, tokens, logprobs } = checkedPart(answer, asked)
  if (end !== 'cut') return { version: asked.version, tokens, logprobs, finish: end }
  throw cutFault(asked.name)
}

/** The fault of a request that a server ended before its end. */
export function cutFault(name: string): EngineFault {
  return new EngineFault(
    'cut',
    `${name} ended a request before its end: someone has paused it, or ended all its requests; it is asked again`,
  )
}

/** The action, or its beginning where the server cut it. @throws EngineFault `wrong_answer` */
export function checkedPart(answer: Answer, { ask, vocabulary, name }: Omit<Asked, 'version'>): CheckedPart {
  const { tokens, logprobs, promptTokens, isCut = false } = answer
  const wrong = (what: string): EngineFault =>
    new EngineFault('wrong_answer', `${name} ${what}; nothing of this answer is used`)
  if (promptTokens !== undefined && promptTokens !== ask.context.length)
    throw wrong(
      `read ${promptTokens} tokens of a context of ${ask.context.length}: it must neither add tokens of its own nor cut contexts`,
    )
  if (answer.prompt?.some((token, at) => token !== ask.context[at]))
    throw wrong('answered to another context than it was given')
  if (tokens.length === 0 && !isCut) throw wrong('answered with no token')
  if (tokens.length > ask.maxNewTokens)
    throw wrong(`answered with ${tokens.length} tokens where ${ask.maxNewTokens} were asked for at most`)
  if (logprobs.length !== tokens.length)
    throw wrong(`answered with ${tokens.length} tokens and ${logprobs.length} logprobs`)
  const strange = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabulary)
  if (strange !== undefined)
    throw wrong(`answered with token ${strange}, and the policy's vocabulary has ${vocabulary}`)
  const tokenless = tokens.find((token) => ask.excluded?.includes(token))
  if (tokenless !== undefined)
    throw wrong(`answered with token ${tokenless}, which it was asked to leave out: no token has this id`)
  const own = ask.weights === undefined ? tokens.length : ownTokens(answer, ask.weights)
  if (own === undefined) throw wrong('did not say which weights sampled its tokens')
  const stop = tokens.findIndex((token) => ask.stopTokens.includes(token))
  const whole = stop < 0 ? tokens.length : stop + 1
  const length = Math.min(own, whole)
  const used = logprobs.slice(0, length).map((logprob) => {
    if (logprob === undefined) throw wrong('reported no logprob for a token that it sampled')
    if (logprob >= leastLogprob && logprob <= mostLogprob) return Math.min(0, logprob)
    throw wrong(`gave a token the logprob ${logprob}`)
  })
  const isWhole = length === whole && (stop >= 0 || tokens.length === ask.maxNewTokens)
  if (!isWhole && length === whole && !isCut)
    throw wrong(
      `ended after ${tokens.length} of ${ask.maxNewTokens} tokens with token ${tokens.at(-1)}, which ends no action of this policy: give the served model the ends of its chat format, and room for contexts of policy.contextLength`,
    )
  return {
    tokens: Int32Array.from(tokens.slice(0, length)),
    logprobs: Float32Array.from(used),
    end: isWhole ? (stop < 0 ? 'length' : 'stop') : 'cut',
  }
}

/** How many tokens the weights of this name sampled before others did; undefined where the answer does not cover all tokens. */
function ownTokens({ tokens, weights = [] }: Answer, name: string): number | undefined {
  const reported = weights.reduce((sum, each) => sum + each.tokens, 0)
  if (reported !== tokens.length) return undefined
  const others = weights.findIndex((each) => each.name !== name && each.tokens > 0)
  return weights.slice(0, others < 0 ? undefined : others).reduce((sum, each) => sum + each.tokens, 0)
}
