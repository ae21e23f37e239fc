import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  comparedGroups,
  expectNear,
  perTurn,
  plainReturn,
  plainRewards,
  through,
} from '../../../test/support/compared-groups.ts'
import type { ComparedGroup } from '../algorithm.ts'
import { critic } from './critic.ts'

/** The mean of the estimates over 1, 2, … turns, the longer ones by λ less, with values that are looked up among all turns. */
function plain(groups: readonly ComparedGroup[], index: number, discount: number): number[] {
  const turnsOf = ({ episodes }: ComparedGroup) =>
    episodes.flatMap((episode, sample) =>
      episode.turns.map(({ state }, at) => {
        const rewards = plainRewards(episode)
        return { sample, at, state, rewards, gain: plainReturn(rewards, at, discount) }
      }),
    )
  const group = groups[index] as ComparedGroup
  const table = groups.filter(({ instance }) => instance === group.instance).flatMap(turnsOf)
  const turns = turnsOf(group)
  const rewards = group.episodes.map(({ reward }) => reward)
  const mean = rewards.reduce((sum, reward) => sum + reward / rewards.length, 0)
  const valueAt = (sample: number, at: number) => {
    const turn = turns.find((one) => one.sample === sample && one.at === at)
    if (turn === undefined) return 0
    const alike = table.filter(({ state }) => state !== undefined && state === turn.state)
    return alike.length === 0 ? turn.gain : alike.reduce((sum, { gain }) => sum + gain, 0) / alike.length
  }
  return turns.map(({ sample, at, state, rewards: own }) => {
    if (state === undefined) return (group.episodes[sample]?.reward ?? 0) - mean
    const left = own.length - at
    const over = (length: number) =>
      plainReturn(own.slice(0, at + length), at, discount) +
      discount ** length * valueAt(sample, at + length) -
      valueAt(sample, at)
    let sum = 0.95 ** (left - 1) * over(left)
    for (let length = 1; length < left; length++) sum += 0.05 * 0.95 ** (length - 1) * over(length)
    return sum
  })
}

it('groups of one instance have one table of values, those of another do not', () => {
  // As in the header: a is worth 1/2 in the groups of one instance, also where one of them is of an earlier update.
  const of = (instance: string, reward: number) => ({
    ...{ task: 'db', instance, episodes: [through('a', reward), through('a', reward)] },
  })
  const [own, other, foreign] = [of('1', 1), of('1', 0), of('2', 1)]
  expect(critic.advantagesOf([own, other, foreign], { discount: 1 })).toEqual([
    [[0.5], [0.5]],
    [[-0.5], [-0.5]],
    [[0], [0]],
  ])
  expect(critic.advantagesOf([own], { discount: 1, earlier: [other, foreign] })).toEqual([[[0.5], [0.5]]])
})

it('is what estimates over all lengths give, in random batches', () => {
  const batches = fc.array(comparedGroups, { minLength: 1, maxLength: 3 })
  const others = fc.array(comparedGroups, { maxLength: 2 })
  fc.assert(
    fc.property(batches, others, fc.constantFrom(0, 0.5, 0.95, 1), (groups, earlier, discount) => {
      const found = critic.advantagesOf(groups, { discount, earlier })
      expect(found).toHaveLength(groups.length)
      for (const [index, group] of groups.entries())
        expectNear(perTurn(group, found[index] ?? []).flat(), plain([...groups, ...earlier], index, discount))
    }),
    { numRuns: 300 },
  )
})
