import fc from 'fast-check'
import { expect, it } from 'vitest'
import { tokenWeights } from './loss-aggregation.ts'

const batch = [
  { task: 'db', actionTokens: [1, 3], inLoss: true },
  { task: 'db', actionTokens: [9, 9], inLoss: false },
  { task: 'os', actionTokens: [4, 0], inLoss: true },
]

// [AGGREGATION-2]
it('tokens, episodes or tasks count alike', () => {
  // 1 + 3 + 4 = 8 tokens; three episodes with tokens; db has 4 of them, os 4
  expect(tokenWeights(batch, 'token')).toEqual([
    [1 / 8, 1 / 8],
    [0, 0],
    [1 / 8, 0],
  ])
  expect(tokenWeights(batch, 'episode')).toEqual([
    [1 / 3, 1 / 9],
    [0, 0],
    [1 / 12, 0],
  ])
  expect(tokenWeights([batch[0], { ...batch[2], actionTokens: [12, 0] }] as typeof batch, 'task')).toEqual([
    [1 / 8, 1 / 8],
    [1 / 24, 0],
  ])
})

it('a group of weight 1/2 counts as half a group', () => {
  // 4 + 4/2 tokens: of the second group each counts 1/12.
  const groups = [
    { task: 'db', actionTokens: [1, 3], inLoss: true },
    { task: 'db', actionTokens: [2, 2], inLoss: true, weight: 0.5 },
  ]
  expect(tokenWeights(groups, 'token')).toEqual([
    [1 / 6, 1 / 6],
    [1 / 12, 1 / 12],
  ])
  // Two episodes and two halves: 1/3 and 1/6 an episode.
  expect(tokenWeights(groups, 'episode')).toEqual([
    [1 / 3, expect.closeTo(1 / 9, 12)],
    [expect.closeTo(1 / 12, 12), expect.closeTo(1 / 12, 12)],
  ])
})

// [AGGREGATION-1] [AGGREGATION-2]
it('the weights of all counted tokens add up to 1, those of each episode and of each task as they should', () => {
  const group = fc.record({
    task: fc.constantFrom('a', 'b', 'c'),
    actionTokens: fc.array(fc.nat(400), { minLength: 2, maxLength: 6 }),
    inLoss: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(group, { maxLength: 6 }),
      fc.constantFrom('token', 'episode', 'task'),
      (groups, aggregation) => {
        const weights = tokenWeights(groups, aggregation)
        const masses = groups.flatMap(({ task, actionTokens }, index) =>
          actionTokens.map((length, episode) => ({ task, mass: length * (weights[index]?.[episode] ?? 0) })),
        )
        const heard = masses.filter(({ mass }) => mass > 0)
        if (heard.length === 0) return
        expect(heard.reduce((sum, { mass }) => sum + mass, 0)).toBeCloseTo(1, 9)
        if (aggregation === 'episode')
          for (const { mass } of heard) expect(mass).toBeCloseTo(1 / heard.length, 9)
        const tasks = [...Map.groupBy(heard, ({ task }) => task).values()]
        if (aggregation === 'task')
          for (const own of tasks)
            expect(own.reduce((sum, { mass }) => sum + mass, 0)).toBeCloseTo(1 / tasks.length, 9)
      },
    ),
  )
})
