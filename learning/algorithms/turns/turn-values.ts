/**
 * Values of exact states without a network, and from them advantages of single turns.
 *
 * Invariants
 * - [TURN-VALUES-1] The rewards of an episode's turns add up to its reward: the last turn has what no turn was paid, such as a penalty.
 * - [TURN-VALUES-2] A turn whose state is unknown has the advantage of its episode alone. Where a group has no known state, each
 *   episode has one advantage, as where nothing but rewards are compared.
 * - [TURN-VALUES-3] Turns that all lead to the same have advantages of exactly 0, whatever is lost by rounding.
 */
import type { Algorithm, ComparedEpisode, ComparedGroup, EpisodeAdvantage } from '../algorithm.ts'
import { deviationFloor, unbiasedDeviation } from '../group-rewards.ts'
import { discountedReturns } from '../step-groups.ts'

/** λ of generalized advantage estimation, as in arXiv 1506.02438. */
export const traceDecay = 0.95

/** A difference that may be nothing but rounding is smaller. */
export const negligible = 1e-9

/** A turn with its part of the episode's reward. */
export interface ValuedTurn {
  readonly state: string | undefined
  readonly reward: number
  /** Gₜ = rₜ + γ·Gₜ₊₁ */
  readonly gain: number
}

/** An episode's turns, [turns]. */
export function valuedTurns(
  { reward, keepsPay, turns }: ComparedEpisode,
  discount: number,
): readonly ValuedTurn[] {
  const paid = turns.map((turn) => (keepsPay ? turn.reward : 0))
  const rest = reward - paid.reduce((sum, each) => sum + each, 0)
  const rewards = paid.map((each, turn) => (turn === paid.length - 1 ? each + rest : each))
  const gains = discountedReturns(rewards, discount)
  return turns.map(({ state }, turn) => ({ state, reward: rewards[turn] ?? 0, gain: gains[turn] ?? 0 }))
}

/** V(s): the mean return of all turns in a state. @param episodes [episodes][turns] */
export function meanReturns(episodes: readonly (readonly ValuedTurn[])[]): ReadonlyMap<string, number> {
  const gains = new Map<string, number[]>()
  for (const { state, gain } of episodes.flat()) {
    if (state === undefined) continue
    const own = gains.get(state)
    if (own === undefined) gains.set(state, [gain])
    else own.push(gain)
  }
  return new Map(
    [...gains].map(([state, own]) => [state, own.reduce((sum, gain) => sum + gain, 0) / own.length]),
  )
}

/**
 * Generalized advantage estimation: Aₜ = Σ (γλ)ⁱ·δₜ₊ᵢ with δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ). After the last turn V is 0. A turn whose
 * state has no value has its own return instead, as a state that occurs once has. Source: arXiv 1506.02438, equations 11, 12 and 16.
 * @returns [turns]
 * @example estimatedAdvantages([{ state: 'a', reward: 0, gain: 0.5 }, { state: 'b', reward: 1, gain: 1 }], new Map([['a', 0.25],
 *   ['b', 0.5]]), { discount: 0.5, decay: 1 }) // δ = [0, 0.5], so [0.25, 0.5]
 */
export function estimatedAdvantages(
  turns: readonly ValuedTurn[],
  values: ReadonlyMap<string, number>,
  { discount, decay }: { readonly discount: number; readonly decay: number },
): number[] {
  const worthOf = ({ state, gain }: ValuedTurn) => (state === undefined ? gain : (values.get(state) ?? gain))
  const rewards = turns.map(({ reward }) => reward)
  return tracedAdvantages(rewards, turns.map(worthOf), { discount, decay })
}

/** The same from what each turn is worth. @param worths [turns] */
export function tracedAdvantages(
  rewards: readonly number[],
  worths: readonly number[],
  { discount, decay }: { readonly discount: number; readonly decay: number },
): number[] {
  const differences = rewards.map((reward, turn) => {
    const difference = reward + discount * (worths[turn + 1] ?? 0) - (worths[turn] ?? 0)
    return Math.abs(difference) < negligible ? 0 : difference
  })
  return discountedReturns(differences, discount * decay)
}

/**
 * (x − m) / (s + 1e-6) over all turns in known states of a group, s unbiased.
 * @param values [group][turns]
 */
export function standardized(
  { episodes }: ComparedGroup,
  values: readonly (readonly number[])[],
): number[][] {
  const known = episodes.flatMap(({ turns }, sample) =>
    turns.flatMap(({ state }, turn) => (state === undefined ? [] : [values[sample]?.[turn] ?? 0])),
  )
  const mean = known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length)
  const deviation = known.length < 2 ? 0 : unbiasedDeviation(known.map((value) => value - mean))
  return values.map((own) => own.map((value) => (value - mean) / (deviation + deviationFloor)))
}

/**
 * Advantages of turns in known states, beside those of episodes for all else.
 * @param algorithm one that gives each episode one advantage
 * @param ofTurn from the place of a turn and the advantage of its episode
 * @returns [group]
 */
export function turnAdvantages(
  group: ComparedGroup,
  algorithm: Pick<Algorithm, 'advantagesOf'>,
  ofTurn: (sample: number, turn: number, ofEpisode: number) => number,
): EpisodeAdvantage[] {
  const [ofEpisodes = []] = algorithm.advantagesOf([group], { discount: 1 })
  const isStated = group.episodes.some(({ turns }) => turns.some(({ state }) => state !== undefined))
  return group.episodes.map(({ turns }, sample) => {
    const ofEpisode = Number(ofEpisodes[sample] ?? 0)
    if (!isStated || turns.length === 0) return ofEpisode
    return turns.map(({ state }, turn) => (state === undefined ? ofEpisode : ofTurn(sample, turn, ofEpisode)))
  })
}
