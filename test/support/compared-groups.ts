/** Random groups whose turns share states, for tests of algorithms that compare turns. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { ComparedEpisode, ComparedGroup, EpisodeAdvantage } from '../../learning/algorithms/algorithm.ts'

const turn = fc.record({
  state: fc.constantFrom('a', 'b', 'c', 'd', undefined),
  reward: fc.constantFrom(-0.5, 0, 0, 0, 0.3, 1),
})

/** Completed, or at a limit: there it has the penalty of 0.2 in the place of what it was paid, or beside it. */
const episode = fc
  .record({
    turns: fc.array(turn, { minLength: 0, maxLength: 7 }),
    ends: fc.constantFrom('completed', 'penalty', 'add'),
  })
  .map(({ turns, ends }): ComparedEpisode => {
    const paid = turns.reduce((sum, { reward }) => sum + reward, 0)
    const reward = { completed: paid, penalty: -0.2, add: paid - 0.2 }[ends] ?? 0
    return {
      ...{ reward, success: reward >= 1, completed: ends === 'completed', keepsPay: ends !== 'penalty' },
      actionTokens: turns.length,
      turns: turns.map((one) => ({
        ...{ reward: one.reward, actionTokens: 1 },
        ...(one.state === undefined ? {} : { state: one.state }),
      })),
    }
  })

/** Groups of two to five episodes. */
export const comparedGroups: fc.Arbitrary<ComparedGroup> = fc
  .record({
    instance: fc.constantFrom('1', '2'),
    episodes: fc.array(episode, { minLength: 2, maxLength: 5 }),
  })
  .map((group) => ({ ...group, task: 'db' }))

/** An episode through states, one letter each and `?` for an unknown one, that is paid at its end. */
export function through(states: string, reward: number): ComparedEpisode {
  const turns = [...states].map((state, index) => ({
    ...{ reward: index === states.length - 1 ? reward : 0, actionTokens: 1 },
    ...(state === '?' ? {} : { state }),
  }))
  const rest = { success: reward >= 1, completed: true, keepsPay: true, actionTokens: turns.length }
  return { reward, ...rest, turns }
}

/** Rewards of an episode's turns that add up to its reward. */
export function plainRewards({ reward, keepsPay, turns }: ComparedEpisode): number[] {
  const own = turns.map((each) => (keepsPay ? each.reward : 0))
  const before = own.slice(0, -1).reduce((sum, each) => sum + each, 0)
  return own.map((each, index) => (index === own.length - 1 ? reward - before : each))
}

/** Σ γⁱ·rₜ₊ᵢ */
export function plainReturn(rewards: readonly number[], from: number, discount: number): number {
  return rewards.slice(from).reduce((sum, reward, later) => sum + discount ** later * reward, 0)
}

/** (x − mean) / (s + 1e-6), s unbiased; 0 where all are equal, apart from rounding. */
export function plainScore(x: number, all: readonly number[]): number {
  const mean = all.reduce((sum, each) => sum + each / all.length, 0)
  const squares = all.reduce((sum, each) => sum + (each - mean) ** 2, 0)
  return squares < 1e-18 ? 0 : (x - mean) / (Math.sqrt(squares / (all.length - 1)) + 1e-6)
}

/** The advantage of each turn of each episode. @returns [group][turns] */
export function perTurn({ episodes }: ComparedGroup, advantages: readonly EpisodeAdvantage[]): number[][] {
  return episodes.map(({ turns }, sample) => {
    const own = advantages[sample]
    return turns.map((_, turn) => Number(typeof own === 'number' ? own : own?.[turn]))
  })
}

/** Compares each with its counterpart, to 1e-6. */
export function expectNear(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length)
  for (const [place, value] of expected.entries()) expect(found[place]).toBeCloseTo(value, 6)
}
