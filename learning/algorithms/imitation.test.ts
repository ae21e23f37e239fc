import fc from 'fast-check'
import { expect, it } from 'vitest'
import { imitates, imitationWeights } from './imitation.ts'

const rules = { algorithm: 'grpo', imitation: { coefficient: 0.2 }, lossAggregation: 'token' } as const
const groups = [
  { task: 'db', rewards: [1, 0, 1], actionTokens: [4, 9, 6] },
  { task: 'os', rewards: [-0.2, 0.5], actionTokens: [7, 7] },
]

it('the tokens of won episodes count, those of the others do not', () => {
  // 0.2 over 4 + 6 tokens
  expect(imitationWeights(groups, rules)).toEqual([
    [expect.closeTo(0.02, 12), 0, expect.closeTo(0.02, 12)],
    [0, 0],
  ])
  // Alone the coefficient is 1: each of two episodes a half.
  const alone = { ...rules, algorithm: 'imitation', lossAggregation: 'episode' } as const
  expect(imitationWeights(groups, alone)).toEqual([
    [1 / 8, 0, 1 / 12],
    [0, 0],
  ])
  expect(imitationWeights(groups, { ...rules, imitation: { coefficient: 0 } }).flat()).toEqual([
    0, 0, 0, 0, 0,
  ])
  expect(imitationWeights(groups.slice(1), rules)).toEqual([[0, 0]])
})

it('the best of each group whose rewards differ is imitated, or all by their rewards', () => {
  const earned = [
    { task: 'shop', rewards: [1, 2, 2], actionTokens: [4, 5, 5] },
    { task: 'shop', rewards: [1.5, 1.5], actionTokens: [7, 7] },
  ]
  const best = { ...rules, imitation: { coefficient: 1, by: 'best' } } as const
  expect(imitationWeights(earned, best)).toEqual([
    [0, 0.1, 0.1],
    [0, 0],
  ])
  // Tokens count 1, 2, 2, 1.5 and 1.5: 45 in all.
  const byReward = { ...rules, imitation: { coefficient: 1, by: 'reward' } } as const
  expect(imitationWeights(earned, byReward)).toEqual([
    [expect.closeTo(1 / 45, 12), expect.closeTo(2 / 45, 12), expect.closeTo(2 / 45, 12)],
    [expect.closeTo(1.5 / 45, 12), expect.closeTo(1.5 / 45, 12)],
  ])
  const nothing = [{ task: 'shop', rewards: [-0.2, 0], actionTokens: [4, 5] }]
  expect(imitationWeights(nothing, byReward)).toEqual([[0, 0]])
})

it('a run imitates where the coefficient or the algorithm says so', () => {
  expect(imitates(rules)).toBe(true)
  expect(imitates({ ...rules, imitation: { coefficient: 0 } })).toBe(false)
  expect(imitates({ algorithm: 'imitation', imitation: { coefficient: 0 } })).toBe(true)
})

// [IMITATION-1]
it('all imitated tokens together count as much as the coefficient says', () => {
  const group = fc
    .array(fc.tuple(fc.constantFrom(-0.2, 0, 0.5, 1), fc.integer({ min: 1, max: 400 })), {
      minLength: 2,
      maxLength: 8,
    })
    .map((episodes) => ({
      task: episodes.length % 2 === 0 ? 'a' : 'b',
      rewards: episodes.map(([reward]) => reward),
      actionTokens: episodes.map(([, length]) => length),
    }))
  fc.assert(
    fc.property(
      fc.array(group, { maxLength: 6 }),
      fc.double({ min: 0.01, max: 10, noNaN: true }),
      fc.constantFrom('token', 'episode', 'task'),
      (played, coefficient, lossAggregation) => {
        const weights = imitationWeights(played, { ...rules, imitation: { coefficient }, lossAggregation })
        const sum = weights.reduce(
          (total, group, index) =>
            group.reduce(
              (part, weight, sample) => part + weight * (played[index]?.actionTokens[sample] ?? 0),
              total,
            ),
          0,
        )
        const isWon = played.some(({ rewards }) => rewards.includes(1))
        expect(sum).toBeCloseTo(isWon ? coefficient : 0, 9)
        for (const [index, { rewards }] of played.entries())
          for (const [sample, reward] of rewards.entries())
            expect((weights[index]?.[sample] ?? 0) > 0).toBe(reward === 1)
      },
    ),
  )
})
