/**
 * Step groups: credit within an episode. Steps of a group that stand in the same state are compared with one another by what was
 * paid from there on. Source: GiGPO, arXiv 2505.10978, with exact states in the place of equal observations.
 *
 * Invariants
 * - [STEP-GROUPS-1] A step that no other step of its group shares its state with gets 0; so does one whose state is unknown.
 * - [STEP-GROUPS-2] The steps of a state sum to 0, in the order of their returns.
 * - [STEP-GROUPS-3] An episode that loses what it was paid has a return of 0 at every step. The penalty for not completing is a
 *   matter of the whole episode, and in no return.
 */
import type { Algorithm } from './algorithm.ts'
import { groupAdvantages } from './group-rewards.ts'

/** How steps are compared; names as in the configuration. */
export interface StepGroupRules {
  /** ω, what the advantage of a step counts beside that of its episode; 0: steps are not compared. */
  readonly weight: number
  /** γ, what a reward counts one step earlier. */
  readonly discount: number
}

/** A step of an episode. */
export interface Step {
  /** Names the state that it was taken in; undefined where the environment does not know it. */
  readonly state: string | undefined
  /** The environment's reward for it. */
  readonly paid: number
}

/** An episode with its steps. */
export interface SteppedEpisode {
  /** Whether what its steps were paid is part of its reward. */
  readonly keepsPay: boolean
  readonly steps: readonly Step[]
}

/**
 * The return from each step on: G_t = r_t + γ·G_{t+1}.
 * @example discountedReturns([0, 0, 1], 0.5) // [0.25, 0.5, 1]
 */
export function discountedReturns(paid: readonly number[], discount: number): number[] {
  const returns = paid.map(() => 0)
  let later = 0
  for (const [step, reward] of [...paid.entries()].reverse()) {
    later = reward + discount * later
    returns[step] = later
  }
  return returns
}

/**
 * Advantage of each step of a group among the steps that stand in its state.
 * @param episodes [group]
 * @returns [group][steps]
 * @throws RangeError a payment that is not finite
 * @example stepAdvantages([{ keepsPay: true, steps: [{ state: 'a', paid: 1 }] }, { keepsPay: true, steps: [{ state: 'a', paid: 0 }] }],
 *   { discount: 1 }, drGrpo) // [[0.5], [-0.5]]
 */
export function stepAdvantages(
  episodes: readonly SteppedEpisode[],
  { discount }: Pick<StepGroupRules, 'discount'>,
  algorithm: Pick<Algorithm, 'advantagesOf'>,
): number[][] {
  const returns = episodes.map(({ keepsPay, steps }) =>
    discountedReturns(
      steps.map(({ paid }) => (keepsPay ? paid : 0)),
      discount,
    ),
  )
  const found = returns.map((own) => own.map(() => 0))
  for (const members of byState(episodes.map(({ steps }) => steps)).values()) {
    if (members.length < 2) continue
    const advantages = groupAdvantages(
      members.map(([episode, step]) => returns[episode]?.[step] ?? 0),
      algorithm,
      { discount },
    )
    for (const [place, [episode, step]] of members.entries()) {
      const own = found[episode]
      if (own !== undefined) own[step] = advantages[place] ?? 0
    }
  }
  return found
}

/** Turns that are in the state of another turn of their group. @param episodes [group] */
export function comparedSteps(episodes: readonly { readonly turns: readonly Stated[] }[]): number {
  const sizes = [...byState(episodes.map(({ turns }) => turns)).values()].map(({ length }) => length)
  return sizes.reduce((sum, size) => (size < 2 ? sum : sum + size), 0)
}

/** A step or turn that began in a state. */
interface Stated {
  readonly state?: string | undefined
}

/** @param episodes [group][steps] */
function byState(
  episodes: readonly (readonly Stated[])[],
): ReadonlyMap<string, readonly (readonly [episode: number, step: number])[]> {
  const found = new Map<string, (readonly [number, number])[]>()
  for (const [episode, steps] of episodes.entries())
    for (const [step, { state }] of steps.entries()) {
      if (state === undefined) continue
      const members = found.get(state) ?? []
      members.push([episode, step])
      found.set(state, members)
    }
  return found
}
