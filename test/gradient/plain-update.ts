/**
 * An update in plain arithmetic: advantages, what tokens count, losses and optimizer, each from its paper's equation.
 *
 * Invariants
 * - It shares no code with either trainer, nor with what fills a batch. Only the draws of minibatches are Perdure's own, because
 *   they are a contract and no arithmetic.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { AlgorithmName } from '../../learning/algorithms/algorithms.ts'
import { shuffled } from '../../learning/rollout/shuffled.ts'
import { predictions } from './plain-policy.ts'
import { Tape, type Vector } from './tape.ts'

/** Names as in the configuration. */
export interface PlainRules {
  /** A name, or `own` for that of a module. */
  readonly algorithm: AlgorithmName | 'own'
  readonly stepWeight: number
  readonly stepDiscount: number
  readonly proximal: 'behaviour' | 'start'
  readonly importanceLimit: number
  readonly lossAggregation: 'token' | 'episode' | 'task'
  readonly minibatches: number
  readonly passes: number
  /** 0: no step is left out. */
  readonly targetKl: number
  readonly clipLow: number
  readonly clipHigh: number
  readonly dualClip: number
  readonly klCoefficient: number
  readonly entropyCoefficient: number
  /** Bounds of the entropy, which EPO reads. */
  readonly entropyBand: { readonly low: number; readonly high: number; readonly pull: number }
  readonly temperature: number
  readonly learningRate: number
  readonly beta2: number
  readonly epsilon: number
  /** Draws the minibatches. */
  readonly seed: number
}

export interface PlainTurn {
  /** Sampled tokens, as places in the episode. */
  readonly begin: number
  readonly end: number
  readonly state: string
  readonly paid: number
}

export interface PlainEpisode {
  readonly task: string
  readonly group: number
  readonly reward: number
  readonly tokens: readonly number[]
  /** [tokens]; read where a token was sampled */
  readonly behaviour: readonly number[]
  readonly turns: readonly PlainTurn[]
}

export type PlainWeights = ReadonlyMap<string, Float64Array>

/** The weights after an update, and the gradient of its last step. */
export interface PlainResult {
  readonly weights: PlainWeights
  readonly gradient: PlainWeights
}

/** A sampled token as losses see it. */
interface Learnt {
  readonly logprob: Vector
  /** Log-probabilities under the policy that ratios refer to, and under the one that sampled. */
  readonly base: number
  readonly behaviour: number
  readonly reference: number
  readonly advantage: number
}

type Formula = (tape: Tape, episode: readonly Learnt[], rules: PlainRules) => Vector[]

const formulas: Readonly<Partial<Record<PlainRules['algorithm'], Formula>>> = {
  // PPO, arXiv 1707.06347, with the dual clip of arXiv 1912.09729.
  grpo: (tape, episode, rules) =>
    episode.map(({ logprob, base, advantage }) => {
      const ratio = tape.exp(shifted(tape, logprob, -base))
      const loss = surrogate(tape, ratio, advantage, rules)
      const most = -rules.dualClip * advantage
      return advantage < 0 && loss.value[0]! > most ? tape.vector(Float64Array.of(most)) : loss
    }),
  // CISPO, arXiv 2506.13585: the clipped ratio is a constant.
  cispo: (tape, episode, rules) =>
    episode.map(({ logprob, base, advantage }) =>
      tape.scaled(logprob, -clip(Math.exp(logprob.value[0]! - base), rules) * advantage),
    ),
  // GSPO-token, arXiv 2507.18071: s_t = sg(s) · π_t / sg(π_t).
  gspo: (tape, episode, rules) => {
    const mean =
      episode.reduce((sum, { logprob, base }) => sum + logprob.value[0]! - base, 0) / episode.length
    return episode.map(({ logprob, advantage }) => {
      const own = tape.exp(shifted(tape, logprob, -logprob.value[0]!))
      return surrogate(tape, tape.scaled(own, Math.exp(mean)), advantage, rules)
    })
  },
  // The reverse divergence from the reference, arXiv 2306.13649: its gradient weighs that of logp by log π − log π_reference.
  distillation: (tape, episode, rules) =>
    episode.map(({ logprob, base, reference }) => {
      const gained = reference - logprob.value[0]!
      const loss = surrogate(tape, tape.exp(shifted(tape, logprob, -base)), gained, rules)
      const most = -rules.dualClip * gained
      return gained < 0 && loss.value[0]! > most ? tape.vector(Float64Array.of(most)) : loss
    }),
  // It has no policy loss.
  imitation: (tape, episode) => episode.map(() => tape.vector(new Float64Array(1))),
  // −A · tanh(log π/π_base + log π/π_behaviour), by a module that knows both policies.
  own: (tape, episode) =>
    episode.map(({ logprob, base, behaviour, advantage }) =>
      tape.each(
        logprob,
        (x) => -advantage * Math.tanh(2 * x - base - behaviour),
        (x) => -2 * advantage * (1 - Math.tanh(2 * x - base - behaviour) ** 2),
      ),
    ),
}

/** The source of a module with the algorithm that is called `own` here: the advantages of GRPO. */
export const customModule = `import { algorithms } from 'perdure'
export const algorithm = {
  name: 'tanh',
  advantagesOf: algorithms.grpo.advantagesOf,
  loss: {
    lossesOf: (tokens) =>
      tokens.map(({ logprob, proximalLogprob, behaviourLogprob, advantage }) => {
        const y = Math.tanh(2 * logprob - proximalLogprob - behaviourLogprob)
        return { loss: -advantage * y, derivative: -2 * advantage * (1 - y ** 2) }
      }),
  },
}
`

const lossesOf: Formula = (tape, episode, rules) => {
  const isPlain = ['dgg', 'epo', 'turn_ppo'].includes(rules.algorithm)
  const formula = formulas[isPlain ? 'grpo' : rules.algorithm]
  if (formula === undefined) throw new RangeError(`no formula of ${rules.algorithm}`)
  return formula(tape, episode, rules)
}

/** The larger of −A r and −A clip(r). */
function surrogate(tape: Tape, ratio: Vector, advantage: number, rules: PlainRules): Vector {
  const inside = (r: number) => r > 1 - rules.clipLow && r < 1 + rules.clipHigh
  const bounded = tape.each(
    ratio,
    (r) => clip(r, rules),
    (r) => (inside(r) ? 1 : 0),
  )
  const [free, held] = [tape.scaled(ratio, -advantage), tape.scaled(bounded, -advantage)]
  return free.value[0]! >= held.value[0]! ? free : held
}

function clip(ratio: number, { clipLow, clipHigh }: PlainRules): number {
  return Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh)
}

function shifted(tape: Tape, x: Vector, by: number): Vector {
  return tape.each(
    x,
    (value) => value + by,
    () => 1,
  )
}

/** An update of weights by episodes. @param reference the policy of the k3 term */
export function plainUpdate(
  episodes: readonly PlainEpisode[],
  { start, reference }: { readonly start: PlainWeights; readonly reference: PlainWeights },
  rules: PlainRules,
): PlainResult {
  const advantages = advantagesOf(episodes, start, rules)
  const alone = rules.algorithm === 'imitation'
  const counts = countsOf(episodes, alone ? ({ reward }) => reward >= 1 : () => true, rules.lossAggregation)
  const learnt = [...episodes.keys()].filter((index) => counts[index]! > 0)
  const logprobsAtStart = episodes.map(({ tokens }) => logprobsOf(start, tokens, rules))
  const logprobsOfReference = episodes.map(({ tokens }) => logprobsOf(reference, tokens, rules))
  let weights: PlainWeights = start
  let gradient: PlainWeights = new Map()
  const moments = new Map([...start].map(([name, { length }]) => [name, new Float64Array(length)]))
  const energies: number[] = []
  const parts = partsOf(learnt, rules)
  const learntOnce = (steps: number) => steps >= Math.max(2, parts.length / rules.passes)
  let step = 0
  for (const part of parts) {
    const tape = new Tape()
    const variables = new Map([...weights].map(([name, weight]) => [name, tape.vector(weight)]))
    const whole = part.reduce((sum, index) => sum + counts[index]! * sampled(episodes[index]!).length, 0)
    let drift = 0
    const terms = part.flatMap((index) => {
      const episode = episodes[index]!
      const found = predictions(tape, variables, episode.tokens, rules.temperature)
      const places = sampled(episode)
      const tokens = places.map((place): Learnt => {
        const [behaviour, atStart] = [episode.behaviour[place]!, logprobsAtStart[index]![place]!]
        const { logprob } = found[place - 1]!
        const advantage = advantages[index]!.get(place)!
        const reference = logprobsOfReference[index]![place]!
        if (rules.proximal === 'behaviour')
          return { logprob, base: behaviour, behaviour, reference, advantage }
        // Decoupled PPO, arXiv 2110.00641, its importance weight truncated.
        const weight = Math.min(Math.exp(atStart - behaviour), rules.importanceLimit)
        return { logprob, base: atStart, behaviour, reference, advantage: weight * advantage }
      })
      const losses = lossesOf(tape, tokens, rules)
      return places.map((place, at) => {
        const { logprob, entropy } = found[place - 1]!
        const moved = logprob.value[0]! - logprobsAtStart[index]![place]!
        drift += boundedK3(moved) / part.reduce((sum, each) => sum + sampled(episodes[each]!).length, 0)
        const weight = counts[index]! / whole
        if (alone) return tape.scaled(logprob, -weight)
        const divergence = divergenceFrom(tape, logprob, logprobsOfReference[index]![place]!)
        const regularized = tape.plus(
          tape.scaled(divergence, rules.klCoefficient),
          tape.scaled(
            rules.algorithm === 'epo' ? keptWithin(tape, entropy, rules.entropyBand) : entropy,
            -rules.entropyCoefficient,
          ),
        )
        return tape.scaled(tape.plus(losses[at]!, regularized), weight)
      })
    })
    if (rules.targetKl > 0 && drift > 1.5 * rules.targetKl) break
    tape.differentiate(tape.sum(tape.joined(terms)))
    const found = new Map([...variables].map(([name, { slope }]) => [name, slope]))
    const energy = found.get('model.embed_tokens.weight')!.reduce((sum, slope) => sum + slope ** 2, 0)
    // arXiv 2605.19425: passes end where the energy of the output matrix is far above those before it.
    if (rules.algorithm === 'dgg' && learntOnce(energies.length) && energy > mostOf(energies)) break
    energies.push(energy)
    gradient = found
    weights = stepped(weights, gradient, moments, ++step, rules)
  }
  return { weights, gradient }
}

/** EPO, arXiv 2509.22576: an entropy less its distance from bounds, of which a nat counts as some. */
function keptWithin(tape: Tape, entropy: Vector, { low, high, pull }: PlainRules['entropyBand']): Vector {
  const outside = (h: number) => (h < low ? low - h : h > high ? h - high : 0)
  return tape.each(
    entropy,
    (h) => h - pull * outside(h),
    (h) => (h < low ? 1 + pull : h > high ? 1 - pull : 1),
  )
}

/** The mean and a deviation more. */
function mostOf(all: readonly number[]): number {
  const mean = all.reduce((sum, each) => sum + each, 0) / all.length
  const square = all.reduce((sum, each) => sum + each ** 2, 0) / all.length
  return mean + Math.sqrt(square - mean ** 2)
}

/** Log-probability of each token but the first, by its place. */
export function logprobsOf(
  weights: PlainWeights,
  tokens: readonly number[],
  { temperature }: Pick<PlainRules, 'temperature'>,
): number[] {
  const tape = new Tape()
  const variables = new Map([...weights].map(([name, weight]) => [name, tape.vector(weight)]))
  return [0, ...predictions(tape, variables, tokens, temperature).map(({ logprob }) => logprob.value[0]!)]
}

/** exp(x) − x − 1, and its tangent beyond a ratio of 2. */
function boundedK3(x: number): number {
  const knee = Math.log(2)
  return x <= knee ? Math.exp(x) - x - 1 : x + 1 - 2 * knee
}

/** That of x = log π_reference − log π. */
function divergenceFrom(tape: Tape, logprob: Vector, reference: number): Vector {
  return tape.each(
    logprob,
    (y) => boundedK3(reference - y),
    (y) => 1 - Math.min(Math.exp(reference - y), 2),
  )
}

function sampled({ turns }: PlainEpisode): number[] {
  return turns.flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, i) => begin + i))
}

/** The head that values a context as the logit of a token there, and something more. */
export const plainHead = { token: 3, more: 0.1 }

/** Advantage of each turn: turn-level GAE, arXiv 2512.17008 and 1506.02438. */
function estimatedAdvantages(
  { tokens, turns, reward }: PlainEpisode,
  start: PlainWeights,
  { stepDiscount }: PlainRules,
): number[] {
  const tape = new Tape()
  const variables = new Map([...start].map(([name, weight]) => [name, tape.vector(weight)]))
  const found = predictions(tape, variables, tokens, 1)
  const values = turns.map(({ begin }) => found[begin - 1]!.logits.value[plainHead.token]! + plainHead.more)
  const unpaid = reward - turns.reduce((sum, { paid }) => sum + paid, 0)
  const surprises = turns.map(({ paid }, at) => {
    const isLast = at === turns.length - 1
    return paid + (isLast ? unpaid : stepDiscount * values[at + 1]!) - values[at]!
  })
  return surprises.map((_, from) =>
    surprises.slice(from).reduce((sum, each, later) => sum + (stepDiscount * 0.9) ** later * each, 0),
  )
}

/** (x − mean) / (s + 1e-6) over all tokens of all episodes. */
function normalizedTogether(episodes: readonly Map<number, number>[]): Map<number, number>[] {
  const all = episodes.flatMap((tokens) => [...tokens.values()])
  return episodes.map(
    (tokens) => new Map([...tokens].map(([place, advantage]) => [place, standardized(advantage, all)])),
  )
}

/** Advantage of each sampled token by its place: GRPO, arXiv 2402.03300, and GiGPO's of steps, arXiv 2505.10978. */
function advantagesOf(
  episodes: readonly PlainEpisode[],
  start: PlainWeights,
  rules: PlainRules,
): Map<number, number>[] {
  const { stepWeight, stepDiscount } = rules
  const isEstimated = rules.algorithm === 'turn_ppo'
  const found = episodes.map((episode) => {
    const estimated = isEstimated ? estimatedAdvantages(episode, start, rules) : []
    const group = episodes.filter((other) => other.group === episode.group)
    const ofEpisode = standardized(
      episode.reward,
      group.map(({ reward }) => reward),
    )
    const returnAt = ({ turns }: PlainEpisode, from: number) =>
      turns.slice(from).reduce((sum, { paid }, later) => sum + stepDiscount ** later * paid, 0)
    return new Map(
      episode.turns.flatMap(({ begin, end, state }, at) => {
        const alike = group.flatMap((other) =>
          other.turns.flatMap((turn, place) => (turn.state === state ? [returnAt(other, place)] : [])),
        )
        const ofStep = alike.length < 2 ? 0 : standardized(returnAt(episode, at), alike)
        const advantage = (isEstimated ? estimated[at]! : ofEpisode) + stepWeight * ofStep
        return Array.from({ length: end - begin }, (_, i) => [begin + i, advantage] as const)
      }),
    )
  })
  return isEstimated ? normalizedTogether(found) : found
}

/** (x − mean) / (s + 1e-6), s unbiased; 0 where all are equal. */
function standardized(x: number, all: readonly number[]): number {
  const mean = all.reduce((sum, each) => sum + each, 0) / all.length
  const variance = all.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (all.length - 1)
  return all.every((each) => each === all[0]) ? 0 : (x - mean) / (Math.sqrt(variance) + 1e-6)
}

/** Weight of each sampled token of an episode, up to a common factor. */
function countsOf(
  episodes: readonly PlainEpisode[],
  isLearnt: (episode: PlainEpisode) => boolean,
  aggregation: PlainRules['lossAggregation'],
): number[] {
  const tokensOf = (task: string) =>
    episodes
      .filter((episode) => episode.task === task && isLearnt(episode))
      .reduce((sum, episode) => sum + sampled(episode).length, 0)
  return episodes.map((episode) => {
    if (!isLearnt(episode)) return 0
    return { token: 1, episode: 1 / sampled(episode).length, task: 1 / tokensOf(episode.task) }[aggregation]
  })
}

/** The episodes of each optimizer step, pass after pass. */
function partsOf(
  episodes: readonly number[],
  { minibatches, passes, seed }: Pick<PlainRules, 'minibatches' | 'passes' | 'seed'>,
): number[][] {
  const parts = Math.min(minibatches, episodes.length)
  return Array.from({ length: passes }, (_, pass) => {
    if (parts === 1) return [[...episodes]]
    const order = shuffled(episodes, uniforms(seedOf(seed, pass)))
    return Array.from({ length: parts }, (_, part) => order.filter((_, place) => place % parts === part))
  }).flat()
}

/** AdamW without a first moment, arXiv 1711.05101. */
function stepped(
  weights: PlainWeights,
  gradient: PlainWeights,
  moments: ReadonlyMap<string, Float64Array>,
  step: number,
  { learningRate, beta2, epsilon }: PlainRules,
): PlainWeights {
  return new Map(
    [...weights].map(([name, weight]) => {
      const second = moments.get(name)!
      return [
        name,
        weight.map((value, i) => {
          const slope = gradient.get(name)![i]!
          second[i] = beta2 * second[i]! + (1 - beta2) * slope ** 2
          const corrected = second[i]! / (1 - beta2 ** step)
          return value - (learningRate * slope) / (Math.sqrt(corrected) + epsilon)
        }),
      ]
    }),
  )
}
