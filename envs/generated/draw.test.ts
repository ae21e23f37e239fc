import fc from 'fast-check'
import { expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { Draw, instanceSeed } from './draw.ts'

const members = ['a', 'b', 'c', 'd', 'e']

test('the same seed gives the same draws in the same order', () => {
  const draws = (seed: number): unknown[] => {
    const draw = new Draw(seed)
    return [
      draw.below(10),
      draw.chance(0.5),
      draw.one(['a', 'b']),
      draw.oneByOne([1, 2, 3], 5),
      draw.int(1, 6),
      draw.weighted(members, [1, 2, 3, 4, 5]),
      draw.shuffled(members),
      draw.some(members, 2),
    ]
  }
  expect(draws(7)).toEqual(draws(7))
  expect(draws(7)).not.toEqual(draws(8))
  expect(new Draw(1).oneByOne([1, 2, 3], 5)).toHaveLength(3)
  expect(new Draw(1).some([1, 2, 3], 5)).toHaveLength(3)
  expect(() => new Draw(1).one([])).toThrow(RangeError)
})

test.each<[string, number, (draw: Draw) => unknown]>([
  ['chance', 1, (draw) => draw.chance(0.5)],
  ['below', 1, (draw) => draw.below(10)],
  ['int', 1, (draw) => draw.int(3, 3)],
  ['one', 1, (draw) => draw.one(members)],
  ['weighted', 1, (draw) => draw.weighted(members, [0, 0, 0, 0, 0])],
  ['shuffled', 5, (draw) => draw.shuffled(members)],
  ['some', 5, (draw) => draw.some(members, 2)],
  ['oneByOne', 2, (draw) => draw.oneByOne(members, 2)],
  ['oneByOne of too few', 5, (draw) => draw.oneByOne(members, 9)],
  ['times', 0, (draw) => draw.times(3, (index) => index)],
])('a method takes as many uniforms as its comment says: %s takes %i', (_, taken, play) => {
  const draw = new Draw(3)
  const next = uniforms(3)
  play(draw)
  for (let number = 0; number < taken; number++) next()
  expect(draw.below(2 ** 32)).toBe(next() * 2 ** 32)
})

test('no two instances of a task have the same seed', () => {
  const splits = ['train', 'validation', 'test']
  const largest = Math.floor(2 ** 32 / splits.length) - 1
  const place = fc.record({ split: fc.constantFrom(...splits), index: fc.nat({ max: largest }) })
  fc.assert(
    fc.property(place, place, (one, other) => {
      const isSame = one.split === other.split && one.index === other.index
      const seeds = [one, other].map(({ split, index }) => instanceSeed(splits, split, index))
      expect(seeds[0] === seeds[1]).toBe(isSame)
    }),
  )
  const seeds = splits.flatMap((split) =>
    Array.from({ length: 2_000 }, (_, index) => instanceSeed(splits, split, index)),
  )
  expect(new Set(seeds).size).toBe(6_000)
})

test('whole numbers keep to their ends and reach them', () => {
  const draw = new Draw(5)
  expect(new Set(draw.times(200, () => draw.int(2, 4)))).toEqual(new Set([2, 3, 4]))
  expect(new Set(draw.times(200, () => draw.below(3)))).toEqual(new Set([0, 1, 2]))
})

test('drawn members are members, none twice', () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat({ max: 8 }), (seed, count) => {
      const draw = new Draw(seed)
      expect(draw.shuffled(members).sort()).toEqual(members)
      for (const drawn of [draw.some(members, count), draw.oneByOne(members, count)]) {
        expect(drawn).toHaveLength(Math.min(count, members.length))
        expect(new Set(drawn).size).toBe(drawn.length)
        expect(members).toEqual(expect.arrayContaining(drawn))
      }
    }),
  )
})

test('a member is drawn by its weight, never where that is 0', () => {
  const draw = new Draw(11)
  const drawn = draw.times(4_000, () => draw.weighted(['never', 'seldom', 'often'], [0, 1, 3]))
  expect(drawn).not.toContain('never')
  // 4000 draws at 3/4: 3000, standard deviation √(4000 · 3/16) ≈ 27; five of them either way.
  const often = drawn.filter((member) => member === 'often').length
  expect(Math.abs(often - 3_000)).toBeLessThan(137)
  expect(draw.weighted(members, [0, 0, 0, 0, 0])).toBeUndefined()
})
