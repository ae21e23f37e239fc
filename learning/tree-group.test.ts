import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type EpisodeId, episodeId, groupId, runId } from '../identity/identity.ts'
import { hasPreference } from './advantage.ts'
import { advantagesFrom, begunAt, comparedSamples, type EndedEpisode, treePlace } from './tree-group.ts'

const group = groupId(runId('demo'), 3)
const idOf = (sample: number): EpisodeId => episodeId(group, sample, 0)

function ended(sample: number, { reward = 0, turns = 5, success = false } = {}): EndedEpisode {
  return { episode: idOf(sample), reward, turns, success }
}

const anyEpisode = fc.record({
  reward: fc.constantFrom(0, 0, 0, -0.2, 1),
  turns: fc.integer({ min: 0, max: 12 }),
})

describe('tree groups', () => {
  it('a group is played on from where all were lost alike, and nowhere else [TREE-GROUP-1]', () => {
    const of = { seed: 1, group, groupSize: 2 }
    expect(treePlace(of, [ended(0), ended(1)])).toMatchObject({ firstSample: 2 })
    expect(treePlace(of, [ended(0), ended(1, { reward: 1, success: true })])).toBeUndefined()
    expect(treePlace(of, [ended(0), ended(1, { reward: -0.2 })])).toBeUndefined()
    expect(treePlace(of, [ended(0, { reward: 1, success: true })])).toBeUndefined()
    expect(treePlace(of, [ended(0, { turns: 1 }), ended(1, { turns: 0 })])).toBeUndefined()
    expect(treePlace(of, [])).toBeUndefined()
    // A second turn is the only one that can be played on from.
    expect(treePlace(of, [ended(0, { turns: 1 }), ended(1, { turns: 2 })])).toEqual({
      episode: idOf(1),
      turn: 1,
      firstSample: 2,
    })
  })

  it('whatever was played, the place is a turn after the first of an episode of the group, the same each time [TREE-GROUP-1] [TREE-GROUP-2]', () => {
    fc.assert(
      fc.property(fc.array(anyEpisode, { maxLength: 9 }), fc.nat(), (played, seed) => {
        const episodes = played.map(({ reward, turns }, sample) =>
          ended(sample, { reward, turns, success: reward === 1 }),
        )
        const of = { seed, group, groupSize: 9 }
        const place = treePlace(of, episodes)
        expect(treePlace(of, episodes)).toEqual(place)
        if (place === undefined) return
        const from = episodes.find(({ episode }) => episode === place.episode)
        expect(place.turn).toBeGreaterThanOrEqual(1)
        expect(place.turn).toBeLessThan(from?.turns ?? 0)
        expect(episodes.some(({ success }) => success)).toBe(false)
      }),
    )
  })

  it('over many groups every turn of every episode is a place', () => {
    const places = Array.from({ length: 400 }, (_, number) =>
      treePlace({ seed: 1, group: groupId(runId('demo'), number), groupSize: 2 }, [
        ended(0, { turns: 3 }),
        ended(1, { turns: 4 }),
      ]),
    )
    const found = new Set(places.map((place) => `${place?.episode} ${place?.turn}`))
    expect(found.size).toBe(2 + 3)
  })

  it('those that play on are compared with the one that they play on from, from that turn on [TREE-GROUP-3]', () => {
    const tree = { episode: idOf(1), turn: 3, firstSample: 8 }
    const episodes = [idOf(0), idOf(1), idOf(8), idOf(9)]
    expect(comparedSamples(episodes, [0, 0, 1, 0], tree)).toEqual([
      { index: 1, from: 3 },
      { index: 2, from: 3 },
      { index: 3, from: 3 },
    ])
    expect([idOf(7), idOf(8)].map((episode) => begunAt(episode, tree))).toEqual([0, 3])
    expect(begunAt(idOf(8), undefined)).toBe(0)
    expect(advantagesFrom([-0.5], { turns: 4, from: 3 })).toEqual([0, 0, 0, -0.5])
    expect(advantagesFrom([0.1, 0.2], { turns: 4, from: 2 })).toEqual([0, 0, 0.1, 0.2])
  })

  it('where they are lost as well, or nothing was played on, the group is compared as it was [TREE-GROUP-4]', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 0, max: 4 }), (size, more) => {
        const episodes = Array.from({ length: size + more }, (_, sample) => idOf(sample))
        const rewards = episodes.map(() => 0)
        const tree = { episode: idOf(0), turn: 1, firstSample: size }
        const found = comparedSamples(episodes, rewards, tree)
        expect(found).toEqual(comparedSamples(episodes.slice(0, size), rewards, undefined))
        expect(hasPreference(found.map(({ index }) => rewards[index] ?? 0))).toBe(false)
      }),
    )
  })
})
