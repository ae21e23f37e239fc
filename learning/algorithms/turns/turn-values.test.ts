import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { comparedGroups, perTurn, plainReturn, through } from '../../../test/support/compared-groups.ts'
import { algorithms } from '../algorithms.ts'
import { estimatedAdvantages, meanReturns, valuedTurns } from './turn-values.ts'

const { hgpo, graph_gpo, gagpo, critic } = algorithms
const all = [hgpo, graph_gpo, gagpo, critic]
const discounts = fc.constantFrom(0, 0.5, 0.95, 1)

describe('values of turns', () => {
  // [TURN-VALUES-1]
  it('the rewards of turns add up to that of the episode, and returns follow from them', () => {
    fc.assert(
      fc.property(comparedGroups, discounts, ({ episodes }, discount) => {
        for (const episode of episodes) {
          const turns = valuedTurns(episode, discount)
          const rewards = turns.map(({ reward }) => reward)
          if (turns.length > 0)
            expect(rewards.reduce((sum, each) => sum + each, 0)).toBeCloseTo(episode.reward, 9)
          for (const [from, { gain }] of turns.entries())
            expect(gain).toBeCloseTo(plainReturn(rewards, from, discount), 9)
        }
      }),
    )
  })

  it('a state is worth the mean return of its turns, and an estimate sums what came unexpectedly', () => {
    // γ = 1/2. Returns of the first: 1/2 in a, 1 in b; of the second: 0 in a.
    const episodes = [through('ab', 1), through('a', 0)].map((episode) => valuedTurns(episode, 0.5))
    const values = meanReturns(episodes)
    expect([...values]).toEqual([
      ['a', 0.25],
      ['b', 1],
    ])
    // δ of the first: 0 + 1/2·1 − 1/4 = 1/4, then 1 − 1 = 0; of the second: 0 − 1/4.
    const by = { discount: 0.5, decay: 0.95 }
    expect(episodes.map((turns) => estimatedAdvantages(turns, values, by))).toEqual([[0.25, 0], [-0.25]])
  })

  it.each(all)(
    '$name: without known states each episode has one advantage, as of its rewards',
    (algorithm) => {
      const group = { task: 'db', episodes: [through('??', 1), through('?', 0), through('', 0)] }
      const ofEpisodes = algorithms[algorithm === critic ? 'dr_grpo' : 'grpo']
      expect(algorithm.advantagesOf([group], { discount: 1 })).toEqual(
        ofEpisodes.advantagesOf([group], { discount: 1 }),
      )
    },
  )

  // [TURN-VALUES-2]
  it.each(all)('$name: turns in unknown states have the advantage of their episode alone', (algorithm) => {
    const ofEpisodes = algorithms[algorithm === critic ? 'dr_grpo' : 'grpo']
    fc.assert(
      fc.property(comparedGroups, discounts, (group, discount) => {
        const [expected = []] = ofEpisodes.advantagesOf([group], { discount })
        const found = perTurn(group, algorithm.advantagesOf([group], { discount })[0] ?? [])
        for (const [sample, { turns }] of group.episodes.entries())
          for (const [turn, { state }] of turns.entries()) {
            if (state === undefined) expect(found[sample]?.[turn]).toBe(expected[sample])
            else expect(found[sample]?.[turn]).toSatisfy(Number.isFinite)
          }
      }),
    )
  })

  // [TURN-VALUES-3]
  it.each(all)('$name: episodes that do the same say nothing', (algorithm) => {
    const rewards = fc.double({ min: -1000, max: 1000, noNaN: true })
    fc.assert(
      fc.property(rewards, fc.integer({ min: 2, max: 9 }), discounts, (reward, size, discount) => {
        const episodes = Array.from({ length: size }, () => through('abc?d', reward))
        const [found = []] = algorithm.advantagesOf([{ task: 'db', episodes }], { discount })
        expect(found.flat(2).every((advantage) => advantage === 0)).toBe(true)
      }),
    )
  })
})
