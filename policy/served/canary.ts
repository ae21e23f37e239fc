/**
 * The canary: a fixed context whose answers show what a server serves, before a turn is sampled from it.
 *
 * Invariants
 * - [CANARY-1] A server whose logprobs are taken before temperature, or are of no kind that is known, is refused.
 * - [CANARY-2] A server that samples from other weights than the version's is refused, where the weights are small
 *   enough to be computed here.
 * - [CANARY-3] A server that answers otherwise for a version while others are sampled beside it is refused: there are kernels that mix
 *   up the adapters of a batch, and each of them alone is right.
 * - [CANARY-4] A server that does not leave out what a request excludes, or tells logprobs as if it had not, is refused for a model with
 *   ids that no token has.
 */

import { uniforms } from '../../identity/identity.ts'
import { EngineFault } from '../engines/engine.ts'
import type { Alternative, Answer, Ask } from './server-protocol.ts'

/** The answer of a version. */
export interface CanaryAnswer extends Pick<Answer, 'alternatives'> {
  readonly tokens: readonly number[]
  readonly logprobs: readonly number[]
}

type Canary = Pick<Ask, 'context' | 'maxNewTokens' | 'temperature' | 'alternatives' | 'seed' | 'excluded'>

/** Asks a server for the canary's sake; what is left out is the canary's own. */
export type AskCanary = (ask: Canary) => Promise<CanaryAnswer>

/** Logprobs of the tokens behind a context, by the version's own weights at temperature 1. */
export type Score = (context: Int32Array, tokens: readonly number[]) => Promise<Float32Array>

/** The result of a canary. */
export interface CanaryReport {
  /** Mean difference to the logprobs of the version's weights; undefined where they were not computed here. */
  readonly difference: number | undefined
  /** The version's own sample. */
  readonly alone: CanaryAnswer
}

/** A version at a server, whose canary was right by itself. */
export interface Versioned {
  readonly version: number
  /** Undefined where the server has the version no more. */
  readonly ask: (canary: Canary) => Promise<CanaryAnswer | undefined>
  readonly alone: CanaryAnswer
}

const contextTokens = 12
const sampledTokens = 16
const alternatives = 5
/** Halves the temperature: differences of logprobs double if they are taken after it. */
const temperature = 0.5
/** Two tokens as likely as one another would tell nothing. */
const leastGap = 1e-3
/** A context on which all are equally likely is followed by another. */
const contexts = 4
/** Halves and bytes in the server's arithmetic move a token by 0.02 in the mean, another model by far more. */
const mostDifference = 0.05

/** A token that is left out may be reported with next to no probability. */
const leastReported = -50

/** Any vocabulary has so many. */
const commonTokens = 256

/** Always the same token ids. */
function canaryContext(vocabulary: number, number: number): Int32Array {
  const draw = uniforms(number)
  const below = Math.min(vocabulary, commonTokens)
  return Int32Array.from({ length: contextTokens }, () => Math.floor(draw() * below))
}

/**
 * Finds out whether a server may be sampled from.
 * @param of.name of the server, in messages
 * @param of.advice what to do where logprobs are taken before temperature
 * @throws EngineFault `another_model`, also for a wrong answer: the next one would be wrong too
 */
export async function checkCanary(
  given: AskCanary,
  of: {
    readonly name: string
    readonly advice: string
    readonly vocabulary: number
    /** Ids that no token has; absent: every id has one. */
    readonly excluded?: readonly number[] | undefined
    readonly score?: Score | undefined
  },
): Promise<CanaryReport> {
  const ask: AskCanary = async (asked) => {
    try {
      return await given(asked)
    } catch (cause) {
      if (!(cause instanceof EngineFault) || cause.kind !== 'wrong_answer') throw cause
      throw new EngineFault('another_model', cause.message, { cause })
    }
  }
  await checkConvention(ask, of)
  if (of.excluded !== undefined) await checkExclusion(ask, { ...of, excluded: of.excluded })
  const asked = samplingCanary(of.vocabulary)
  const alone = await ask(asked)
  const { tokens, logprobs } = alone
  if (of.score === undefined) return { difference: undefined, alone }
  const own = await of.score(asked.context, tokens)
  const difference =
    logprobs.reduce((sum, reported, at) => sum + Math.abs(reported - (own[at] as number)), 0) / own.length
  if (!(difference <= mostDifference))
    throw new EngineFault(
      'another_model',
      `${of.name} does not sample from the weights of this version: its logprobs differ by ${difference.toPrecision(2)} in the mean, at most ${mostDifference} is rounding; start it with a model made of this checkpoint`,
    )
  return { difference, alone }
}

/** An action that is sampled. */
function samplingCanary(vocabulary: number): Canary {
  const context = canaryContext(vocabulary, 0)
  return { context, maxNewTokens: sampledTokens, temperature: 1, alternatives, seed: 1 }
}

/**
 * Finds out whether each of several versions answers beside the others as it does alone.
 * @throws EngineFault `another_model`
 */
export async function checkTogether(
  versions: readonly Versioned[],
  { name, vocabulary }: { readonly name: string; readonly vocabulary: number },
): Promise<void> {
  if (versions.length < 2) return
  const asked = samplingCanary(vocabulary)
  const answers = await Promise.all(versions.map(({ ask }) => ask(asked)))
  for (const [at, { version, alone }] of versions.entries()) {
    const answer = answers[at]
    const difference = answer === undefined ? 0 : distance(alone, answer)
    if (difference <= mostDifference) continue
    const others = versions.filter((_, other) => other !== at).map((other) => other.version)
    throw new EngineFault(
      'another_model',
      `${name} mixes versions up: beside ${others.join(', ')} the logprobs of version ${version} differ by ${difference.toPrecision(2)} from those that it has alone; use another release of the server, or another backend for its adapters`,
    )
  }
}

/** Mean difference of the most likely tokens' logprobs, at the places that follow the same tokens. */
function distance(one: CanaryAnswer, other: CanaryAnswer): number {
  const parting = one.tokens.findIndex((token, at) => token !== other.tokens[at])
  const places = one.alternatives.slice(0, parting < 0 ? undefined : parting + 1)
  const differences = places.flatMap((likely, at) =>
    likely.flatMap(({ token, logprob }) => {
      const same = other.alternatives[at]?.find((each) => each.token === token)
      return same === undefined ? [] : [Math.abs(same.logprob - logprob)]
    }),
  )
  if (differences.length === 0) return Number.POSITIVE_INFINITY
  return differences.reduce((sum, each) => sum + each, 0) / differences.length
}

/** Leaves out the most likely token too, which shows at once whether the server does so. */
async function checkExclusion(
  ask: AskCanary,
  {
    name,
    vocabulary,
    excluded,
  }: { readonly name: string; readonly vocabulary: number; readonly excluded: readonly number[] },
): Promise<void> {
  const first = {
    context: canaryContext(vocabulary, 0),
    maxNewTokens: 1,
    alternatives,
    seed: 1,
    temperature: 1,
  }
  const [likely = []] = (await ask({ ...first, excluded })).alternatives
  const [top, ...others] = likely.toSorted((a, b) => b.logprob - a.logprob)
  if (top === undefined) return
  const [without = []] = (await ask({ ...first, excluded: [...excluded, top.token] })).alternatives
  const rest = Math.log1p(-Math.exp(Math.min(top.logprob, -1e-6)))
  const differences = others.flatMap(({ token, logprob }) => {
    const reported = without.find((each) => each.token === token)
    return reported === undefined ? [] : [Math.abs(reported.logprob - (logprob - rest))]
  })
  const isLeftOut = !without.some(({ token, logprob }) => token === top.token && logprob > leastReported)
  if (isLeftOut && differences.every((difference) => difference <= mostDifference)) return
  throw new EngineFault(
    'another_model',
    `${name} does not leave out the tokens that a request excludes, or tells logprobs as if it had not; this model has ${excluded.length} ids without a token, which must not be sampled: use a release of the server that applies \`logit_bias\` before it samples`,
  )
}

async function checkConvention(
  ask: AskCanary,
  {
    name,
    advice,
    vocabulary,
  }: { readonly name: string; readonly advice: string; readonly vocabulary: number },
): Promise<void> {
  for (let number = 0; number < contexts; number++) {
    const context = canaryContext(vocabulary, number)
    const first = { context, maxNewTokens: 1, alternatives, seed: 1 }
    const [plain, sharp] = [await ask({ ...first, temperature: 1 }), await ask({ ...first, temperature })]
    const ratio = gapRatio(plain.alternatives[0] ?? [], sharp.alternatives[0] ?? [])
    if (ratio === undefined) continue
    // 1 / temperature after it, 1 before it; float rounding and half precision stay far from the middle.
    if (Math.abs(ratio * temperature - 1) < 0.2) return
    throw new EngineFault(
      'another_model',
      Math.abs(ratio - 1) < 0.2
        ? `${name} tells logprobs before temperature, and training needs those of the distribution that is sampled from: ${advice}`
        : `${name} tells logprobs of no known kind: at temperature ${temperature} their differences are ${ratio.toPrecision(3)} times those at 1, expected ${1 / temperature}`,
    )
  }
  throw new EngineFault(
    'another_model',
    `${name} did not tell the most likely tokens apart, so the kind of its logprobs is not known`,
  )
}

/** How much further apart two tokens are in the second list; those that are furthest apart in the first one. */
function gapRatio(plain: readonly Alternative[], sharp: readonly Alternative[]): number | undefined {
  const inBoth = plain.flatMap(({ token, logprob }) => {
    const other = sharp.find((each) => each.token === token)
    return other === undefined ? [] : [{ plain: logprob, sharp: other.logprob }]
  })
  inBoth.sort((left, right) => right.plain - left.plain)
  const [best] = inBoth
  const last = inBoth.at(-1)
  if (best === undefined || last === undefined) return undefined
  const gap = best.plain - last.plain
  return gap < leastGap ? undefined : (best.sharp - last.sharp) / gap
}
