import { expect, test } from 'vitest'
import { generatedSplits } from '../../generated-instances.ts'
import { problemSeed } from './generator.ts'
import { openBuiltin } from './library.ts'

const difficulties = ['easy', 'normal', 'hard'] as const

test.each(difficulties)('a problem is a function of its id: %s', async (difficulty) => {
  const [first, second] = [await openBuiltin(difficulty), await openBuiltin(difficulty)]
  const ids = Array.from({ length: 30 }, (_, index) => `train/${index}`)
  const items = ids.map((id) => first.open(id))
  expect(
    ids
      .toReversed()
      .map((id) => second.open(id))
      .toReversed(),
  ).toEqual(items)
})

test('splits share no seed', () => {
  const seeds = generatedSplits.flatMap((split) =>
    Array.from({ length: 2000 }, (_, index) => problemSeed(split, index)),
  )
  expect(new Set(seeds).size).toBe(seeds.length)
})

test('difficulties differ in size and kinds', async () => {
  const rows = await Promise.all(
    difficulties.map(async (difficulty) => {
      const library = await openBuiltin(difficulty)
      const items = Array.from({ length: 40 }, (_, index) => library.open(`test/${index}`))
      expect(items.some(({ goal }) => goal.kind === 'answer')).toBe(true)
      expect(items.some(({ goal }) => goal.kind === 'effect')).toBe(true)
      return Math.max(...items.map(({ tables }) => tables[0]?.rows.length ?? 0))
    }),
  )
  expect(rows).toEqual(rows.toSorted((left, right) => left - right))
  expect(rows[0]).toBeLessThanOrEqual(5)
})

test('easy problems are short: for policies with few tokens', async () => {
  const library = await openBuiltin('easy')
  const lengths = Array.from({ length: 200 }, (_, index) => library.open(`train/${index}`).question.length)
  expect(lengths.reduce((sum, length) => sum + length, 0) / lengths.length).toBeLessThan(100)
})
