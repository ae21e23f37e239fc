import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planBatch } from './batch-plan.ts'
import {
  type AdvantageGroup,
  type CheckedAdvantage,
  type CustomAdvantage,
  customAdvantages,
} from './custom-advantage.ts'

const turn = { reward: 0, actionTokens: 3 }
const group: AdvantageGroup = {
  task: 'db',
  episodes: [
    { reward: 1, completed: true, actionTokens: 6, turns: [turn, turn] },
    { reward: 0, completed: true, actionTokens: 3, turns: [turn] },
  ],
}
const returning = (value: unknown): CustomAdvantage => ({
  name: 'own',
  advantagesOf: () => value as number[],
})

describe('customAdvantages', () => {
  it('takes a number for an episode, or one for each of its turns', () => {
    expect(customAdvantages(returning([[0.5, -0.5], 2]), group)).toEqual([[0.5, -0.5], [2]])
  })

  // [CUSTOM-ADVANTAGE-2]
  it('gives a copy of the group: what the module writes to it changes nothing', () => {
    const own: CustomAdvantage = {
      name: 'writes',
      advantagesOf({ episodes }) {
        for (const episode of episodes) Object.assign(episode, { reward: 9, turns: [] })
        ;(episodes as unknown[]).pop()
        return [1, 1]
      },
    }
    const before = structuredClone(group)
    expect(customAdvantages(own, group)).toEqual([[1], [1]])
    expect(group).toEqual(before)
  })

  // [CUSTOM-ADVANTAGE-1]
  it.each([
    [undefined, /undefined, expected a list of 2/],
    [[1], /1 advantages, expected a list of 2/],
    [[[1], 0], /1 advantages for episode 0, expected one, or one for each of its 2 turns/],
    [[[1, Number.NaN], 0], /advantage NaN for episode 0, expected a finite number/],
    [['1', 0], /advantage 1 for episode 0, expected a finite number/],
  ])('refuses %j', (value, words) => {
    expect(() => customAdvantages(returning(value), group)).toThrow(words)
  })
})

/** The checked form with which a batch is planned. */
function checked(advantagesOf: CustomAdvantage['advantagesOf']): CheckedAdvantage {
  return (group) => customAdvantages({ name: 'own', advantagesOf }, group)
}

describe('a batch with an advantage of the user’s own', () => {
  const rules = {
    negativeWeight: 1,
    taskNormalization: 'none',
    taskWeighting: 'none',
    lossAggregation: 'token',
    taskWeights: { db: 1 },
    objective: 'clipped',
    imitation: { coefficient: 0 },
    stepGroups: { weight: 0, discount: 1 },
  } as const
  const step = { state: undefined, paid: 0 }
  const played = (rewards: readonly number[]) => ({
    task: 'db',
    rewards,
    actionTokens: [6, 3],
    episodes: [
      { completed: true, steps: [step, step], turnTokens: [4, 2] },
      { completed: true, steps: [step], turnTokens: [3] },
    ],
  })

  it('gives what it says to every turn, and leaves out a group to which it gives 0 alone', () => {
    const brief = checked(({ episodes }) => episodes.map(({ reward, actionTokens }) => reward / actionTokens))
    const plan = planBatch([played([1, 0]), played([0, 0])], { ...rules, advantage: brief })
    expect(plan.groups.map(({ advantages }) => advantages)).toEqual([
      [[1 / 6, 1 / 6], [0]],
      [[0, 0], [0]],
    ])
    expect(plan.groups.map(({ inBatch }) => inBatch)).toEqual([
      [true, true],
      [false, false],
    ])
    expect(plan.actionTokens).toBe(9)
  })

  it('is asked about groups of equal rewards too', () => {
    const longer = checked(({ episodes }) => episodes.map(({ turns }) => turns.map((_, index) => index + 1)))
    const plan = planBatch([played([0, 0])], { ...rules, advantage: longer })
    expect(plan.groups[0]?.advantages).toEqual([[1, 2], [1]])
  })

  it('with the arithmetic of dr_grpo gives the plan of dr_grpo, whatever the rewards', () => {
    const mean = checked(({ episodes }) => {
      const middle = episodes.reduce((sum, { reward }) => sum + reward, 0) / episodes.length
      return episodes.map(({ reward }) => reward - middle)
    })
    const reward = fc.integer({ min: -8, max: 8 }).map((eighths) => eighths / 8)
    fc.assert(
      fc.property(fc.array(fc.tuple(reward, reward), { minLength: 1, maxLength: 5 }), (all) => {
        const groups = all.map(played)
        const named = planBatch(groups, { ...rules, advantage: 'dr_grpo', taskNormalization: 'per_task' })
        const own = planBatch(groups, { ...rules, advantage: mean, taskNormalization: 'per_task' })
        for (const [index, { advantages, inBatch }] of own.groups.entries()) {
          const expected = named.groups[index]
          expect(inBatch).toEqual(expected?.inBatch)
          for (const [sample, turns] of advantages.entries())
            for (const value of turns) expect(value).toBeCloseTo(expected?.advantages[sample]?.[0] ?? 0, 9)
        }
      }),
    )
  })
})
