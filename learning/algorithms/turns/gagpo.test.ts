import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  comparedGroups,
  expectNear,
  perTurn,
  plainReturn,
  plainRewards,
  plainScore,
  through,
} from '../../../test/support/compared-groups.ts'
import type { ComparedGroup } from '../algorithm.ts'
import { gagpo } from './gagpo.ts'

/** Sums of differences, each by its place, with values that are looked up among all turns. */
function plain({ episodes }: ComparedGroup, discount: number): number[] {
  const turns = episodes.flatMap((episode, sample) =>
    episode.turns.map(({ state }, at) => {
      const rewards = plainRewards(episode)
      return { sample, at, state, reward: rewards[at] ?? 0, gain: plainReturn(rewards, at, discount) }
    }),
  )
  const worthOf = ({ state, gain }: (typeof turns)[number]) => {
    const alike = state === undefined ? [] : turns.filter((other) => other.state === state)
    return alike.length === 0 ? gain : alike.reduce((sum, other) => sum + other.gain, 0) / alike.length
  }
  const rest = (sample: number, from: number) =>
    turns.filter((one) => one.sample === sample && one.at >= from)
  const raw = turns.map(({ sample, at }) =>
    rest(sample, at).reduce((sum, turn, later, own) => {
      const next = own[later + 1]
      const difference = turn.reward + discount * (next === undefined ? 0 : worthOf(next)) - worthOf(turn)
      return sum + (discount * 0.95) ** later * difference
    }, 0),
  )
  const known = raw.filter((_, index) => turns[index]?.state !== undefined)
  const rewards = episodes.map(({ reward }) => reward)
  return turns.map(({ sample, state }, index) =>
    state === undefined
      ? plainScore(episodes[sample]?.reward ?? 0, rewards)
      : plainScore(raw[index] ?? 0, known),
  )
}

it('an action is worth what the group gains from it, standardized over the turns of the group', () => {
  // As in the header with λ = 0.95: δ = [1/2, 0] and [−1/2, 0]; the mean is 0, the deviation √((1/4 + 1/4)/3) = 0.40825.
  const group = { task: 'db', episodes: [through('ab', 1), through('ac', 0)] }
  const [found = []] = gagpo.advantagesOf([group], { discount: 1 })
  for (const [sample, [first, second]] of perTurn(group, found).entries()) {
    expect(first).toBeCloseTo(sample === 0 ? 1.22474 : -1.22474, 4)
    expect(second).toBe(0)
  }
})

it('is what sums over all turns give, in random groups', () => {
  fc.assert(
    fc.property(comparedGroups, fc.constantFrom(0, 0.5, 0.95, 1), (group, discount) => {
      const [found = []] = gagpo.advantagesOf([group], { discount })
      expectNear(perTurn(group, found).flat(), plain(group, discount))
    }),
    { numRuns: 500 },
  )
})
