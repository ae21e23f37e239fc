import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Algorithm, ComparedGroup } from './algorithm.ts'
import { algorithms } from './algorithms.ts'
import { batchAdvantages } from './batch-advantages.ts'
import { planBatch } from './batch-plan.ts'
import { checkedAlgorithm } from './custom-algorithm.ts'

const turn = { reward: 0, actionTokens: 3 }
const group: ComparedGroup = {
  task: 'db',
  episodes: [
    { reward: 1, success: true, completed: true, keepsPay: true, actionTokens: 6, turns: [turn, turn] },
    { reward: 0, success: false, completed: true, keepsPay: true, actionTokens: 3, turns: [turn] },
  ],
}
const token = {
  ...{ logprob: -1, behaviourLogprob: -1.5, proximalLogprob: -1.2, startLogprob: -1.2 },
  ...{ advantage: 2, stale: false },
}
const settings = { clipLow: 0.2, clipHigh: 0.3, dualClip: 3 }

function checked(own: Partial<Omit<Algorithm, 'name'>>): Algorithm {
  return checkedAlgorithm({ ...algorithms.grpo, name: 'own', ...own }, (call) => call())
}
const giving = (value: unknown) => checked({ advantagesOf: () => value as never })
const losing = (value: unknown) => checked({ loss: { lossesOf: () => value as never } })

describe('a checked algorithm', () => {
  it('gives an episode, each of its turns or each of its action tokens an advantage', () => {
    const advantages = [[[[0.5, 0, 1], -0.5], 2]]
    expect(giving(advantages).advantagesOf([group], { discount: 1 })).toEqual(advantages)
  })

  // [CUSTOM-ALGORITHM-2]
  it('gets copies: what it writes to groups, tokens and settings changes nothing', () => {
    const own = checked({
      advantagesOf: (groups) => {
        for (const { episodes } of groups)
          for (const episode of episodes) Object.assign(episode, { reward: 9, turns: [] })
        ;(groups as unknown[]).push(...groups)
        return [[1, 1]]
      },
      loss: {
        lossesOf: (tokens, given) => {
          for (const each of tokens) Object.assign(each, { logprob: 9 })
          Object.assign(given, { clipLow: 9 })
          return [{ loss: 0, derivative: 0 }]
        },
      },
    })
    const before = structuredClone({ group, token, settings })
    expect(own.advantagesOf([group], { discount: 1 })).toEqual([[1, 1]])
    expect(own.loss.lossesOf([token], settings)).toEqual([{ loss: 0, derivative: 0, clipped: false }])
    expect({ group, token, settings }).toEqual(before)
  })

  // [CUSTOM-ALGORITHM-1]
  it.each([
    [undefined, /undefined as advantages, expected a list of 1, one for each group/],
    [[[1]], /1 advantages for group 0, of db, expected a list of 2, one for each episode/],
    [[[[1], 0]], /1 advantages for episode 0 of group 0, of db, expected a list of 2, one for each turn/],
    [
      [[[1, [1]], 0]],
      /1 advantages for turn 1 of episode 0 .*, expected a list of 3, one for each action token/,
    ],
    [[[[1, Number.NaN], 0]], /the advantage NaN for episode 0 of group 0, of db, expected a finite number/],
    [[['1', 0]], /the advantage 1 for episode 0/],
  ])('refuses the advantages %j', (value, words) => {
    expect(() => giving(value).advantagesOf([group], { discount: 1 })).toThrow(words)
  })

  // [CUSTOM-ALGORITHM-1]
  it('says what its learnt values are fitted to, a finite number for each turn', () => {
    const [played] = group.episodes
    if (played === undefined) throw new Error('no episode')
    const fitted = (value: unknown) =>
      batchAdvantages(
        checked({ valueTargetsOf: () => value as never }),
        [{ task: 'db', rewards: [1, 0], actionTokens: [0, 0] }],
        { stepGroups: { weight: 0, discount: 1 } },
      ).valueTargets
    const targets = checked({ valueTargetsOf: () => [0.5, 1] }).valueTargetsOf?.(played, { discount: 1 })
    expect(targets).toEqual([0.5, 1])
    expect(fitted([])).toEqual([[[], []]])
    expect(() => fitted([1])).toThrow(/1 value targets, expected a list of 0, one for each turn/)
    const odd = checked({ valueTargetsOf: () => [0, Number.NaN] })
    expect(() => odd.valueTargetsOf?.(played, { discount: 1 })).toThrow(/the value target NaN for turn 1/)
  })

  // [CUSTOM-ALGORITHM-1]
  it.each([
    [undefined],
    [[]],
    [[{ loss: 1 }]],
    [[{ loss: Number.NaN, derivative: 0 }]],
    [[{ loss: 0, derivative: 1 / 0 }]],
  ])('refuses the losses %j', (value) => {
    expect(() => losing(value).loss.lossesOf([token], settings)).toThrow(/expected/)
  })

  // [CUSTOM-ALGORITHM-1]
  it('says yes or no to a step, and nothing else', () => {
    const step = {
      gradientNorm: 9,
      headNorm: 2,
      earlierNorms: [],
      pass: 0,
      loss: 1,
      kl: 0,
      referenceKl: 0,
      drift: 0,
      entropy: 1,
      clipFraction: 0,
      actionTokens: 5,
    }
    const strict = checked({ rejects: ({ gradientNorm }) => gradientNorm > 5 })
    expect(strict.rejects?.(step)).toBe(true)
    expect(strict.rejects?.({ ...step, gradientNorm: 1 })).toBe(false)
    expect(() => checked({ rejects: () => undefined as never }).rejects?.(step)).toThrow(
      /undefined from `rejects`, expected true, false or "rest"/,
    )
  })

  it('keeps a loss that comes with Perdure, so that the graph and any trainer know it', () => {
    expect(checked({ loss: algorithms.gspo.loss }).loss).toBe(algorithms.gspo.loss)
  })
})

describe('a batch with an algorithm of the user’s own', () => {
  const rules = {
    negativeWeight: 1,
    taskNormalization: 'none',
    taskWeighting: 'none',
    lossAggregation: 'token',
    taskWeights: { db: 1 },
    algorithm: '/my/own.ts',
    imitation: { coefficient: 0 },
  } as const
  const step = { state: 'a', paid: 0 }
  const played = (rewards: readonly number[]) => ({
    task: 'db',
    rewards,
    actionTokens: [6, 3],
    episodes: [
      { completed: true, keepsPay: true, steps: [step, { ...step, state: 'b' }], turnTokens: [4, 2] },
      { completed: true, keepsPay: true, steps: [{ ...step, paid: 1 }], turnTokens: [3] },
    ],
  })
  const planned = (
    advantagesOf: Algorithm['advantagesOf'],
    groups: readonly ReturnType<typeof played>[],
    weight = 0,
  ) => {
    const stepGroups = { weight, discount: 1 }
    return planBatch(groups, batchAdvantages(checked({ advantagesOf }), groups, { stepGroups }), rules)
  }

  it('sees all groups at once, of equal rewards too, and leaves out those to which it gives 0 alone', () => {
    const best: Algorithm['advantagesOf'] = (groups) => {
      const highest = Math.max(...groups.flatMap(({ episodes }) => episodes.map(({ reward }) => reward)))
      return groups.map(({ episodes }) => episodes.map(({ reward }) => highest - reward))
    }
    const plan = planned(best, [played([1, 1]), played([0, 3]), played([3, 3])])
    expect(plan.groups.map(({ advantages }) => advantages)).toEqual([
      [[2], [2]],
      [[3], [0]],
      [[0], [0]],
    ])
    expect(plan.groups.map(({ inBatch }) => inBatch)).toEqual([
      [true, true],
      [true, true],
      [false, false],
    ])
    expect(plan.actionTokens).toBe(18)
  })

  it('may give each action token its own, and the advantage of a step is added to all of its turn', () => {
    const own: Algorithm['advantagesOf'] = (groups) =>
      groups.map(({ episodes }) =>
        // Steps are compared by their returns alone.
        episodes.map(({ reward, turns }) => (turns.length === 0 ? reward : turns.map(() => 0))),
      )
    const tokens: Algorithm['advantagesOf'] = (groups, settings) =>
      groups[0]?.episodes[0]?.turns.length === 2 ? [[[[1, 2, 3, 4], 5], 6]] : own(groups, settings)
    expect(planned(tokens, [played([0, 0])]).groups[0]?.advantages).toEqual([[[1, 2, 3, 4], 5], [6]])
    // Both episodes begin in state a, with the returns 0 and 1.
    expect(planned(tokens, [played([0, 0])], 0.5).groups[0]?.advantages).toEqual([[[1, 2, 3, 4], 5], [6.5]])
  })

  it('with the arithmetic of dr_grpo gives the plan of dr_grpo, whatever the rewards', () => {
    const reward = fc.integer({ min: -8, max: 8 }).map((eighths) => eighths / 8)
    fc.assert(
      fc.property(fc.array(fc.tuple(reward, reward), { minLength: 1, maxLength: 5 }), (all) => {
        const groups = all.map(played)
        const named = batchAdvantages(algorithms.dr_grpo, groups, { stepGroups: { weight: 0, discount: 1 } })
        expect(planned(algorithms.dr_grpo.advantagesOf, groups)).toEqual(planBatch(groups, named, rules))
      }),
    )
  })
})
