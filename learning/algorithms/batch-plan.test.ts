import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AlgorithmName, algorithmNames, algorithms } from './algorithms.ts'
import { type BatchGroup, batchAdvantages } from './batch-advantages.ts'
import { type BatchPlan, type BatchRules, planBatch } from './batch-plan.ts'
import { groupAdvantages } from './group-rewards.ts'
import { grpo } from './grpo.ts'
import type { StepGroupRules } from './step-groups.ts'
import { tokenMoments } from './task-normalization.ts'

const rules = {
  negativeWeight: 1,
  taskWeighting: 'none',
  lossAggregation: 'token',
  taskWeights: { db: 1, os: 1 },
  imitation: { coefficient: 0 },
  stepGroups: { weight: 0, discount: 1 },
} as const
const winner = { task: 'db', rewards: [0, 1], actionTokens: [3, 1] }
const draw = { task: 'db', rewards: [0, 0], actionTokens: [7, 7] }

function planOf(
  groups: readonly BatchGroup[],
  rule: BatchRules & { readonly algorithm: AlgorithmName; readonly stepGroups: StepGroupRules },
): BatchPlan {
  return planBatch(groups, batchAdvantages(algorithms[rule.algorithm], groups, rule), rule)
}

describe('planBatch', () => {
  // [BATCH-PLAN-1]
  it('a group with equal rewards contributes nothing to the loss', () => {
    const plan = planOf([winner, draw], { ...rules, algorithm: 'grpo', taskNormalization: 'per_task' })
    expect(plan.groups[1]).toEqual({
      advantages: [[0], [0]],
      tokenWeights: [0, 0],
      imitationWeights: [0, 0],
      inBatch: [false, false],
    })
    expect(plan.groups[0]).toEqual(
      planOf([winner], { ...rules, algorithm: 'grpo', taskNormalization: 'per_task' }).groups[0],
    )
    expect(plan.withPreference).toBe(1)
    expect(plan.actionTokens).toBe(4) // 3 + 1, without the 14 of the draw
  })

  it('the published arithmetic keeps a group with equal rewards in the loss', () => {
    const plan = planOf([winner, draw], {
      ...rules,
      algorithm: 'grpo',
      taskNormalization: 'per_task_published',
    })
    expect(plan.groups[1]?.inBatch).toEqual([true, true])
    expect(plan.groups[1]?.advantages[0]?.[0]).toBeGreaterThan(0)
    expect(plan.actionTokens).toBe(18)
  })

  it('what was won is imitated beside the policy loss, also where a group has no preference', () => {
    const won = { task: 'os', rewards: [1, 1], actionTokens: [2, 4] }
    const plan = planOf([winner, draw, won], {
      ...rules,
      algorithm: 'dr_grpo',
      taskNormalization: 'none',
      imitation: { coefficient: 0.7 },
    })
    // Policy loss: 3 + 1 tokens of the winner's group. Imitation: 0.7 over 1 + 2 + 4 tokens.
    expect(plan.groups).toEqual([
      {
        advantages: [[-0.5], [0.5]],
        tokenWeights: [0.25, 0.25],
        imitationWeights: [0, expect.closeTo(0.1, 12)],
        inBatch: [true, true],
      },
      { advantages: [[0], [0]], tokenWeights: [0, 0], imitationWeights: [0, 0], inBatch: [false, false] },
      {
        advantages: [[0], [0]],
        tokenWeights: [0, 0],
        imitationWeights: [expect.closeTo(0.1, 12), expect.closeTo(0.1, 12)],
        inBatch: [true, true],
      },
    ])
    expect(plan.actionTokens).toBe(10)
  })

  // [IMITATION-2]
  it('alone, imitation has an advantage of 1 for what was won and nothing else in the batch', () => {
    const plan = planOf([winner, draw], {
      ...rules,
      algorithm: 'imitation',
      taskNormalization: 'per_task',
    })
    expect(plan.groups[0]).toEqual({
      advantages: [[0], [1]],
      tokenWeights: [0, 0],
      imitationWeights: [0, 1],
      inBatch: [false, true],
    })
    expect(plan).toMatchObject({ actionTokens: 1, withPreference: 1 })
    expect(plan.tasks.get('db')?.gradientShare).toBe(1)
  })

  it('where steps are compared each turn has its own advantage, and tasks are weighed over the tokens of turns', () => {
    // Both episodes begin in state a: returns 0 and γ·1 = 0.5, so −0.25 and 0.25; later states occur once.
    const episodes = [
      {
        completed: true,
        keepsPay: true,
        turnTokens: [2, 1],
        steps: [
          { state: 'a', paid: 0 },
          { state: 'b', paid: 0 },
        ],
      },
      {
        completed: true,
        keepsPay: true,
        turnTokens: [1, 4],
        steps: [
          { state: 'a', paid: 0 },
          { state: 'c', paid: 1 },
        ],
      },
    ]
    const group = { task: 'db', rewards: [0, 1], actionTokens: [3, 5], episodes }
    const stepGroups = { weight: 2, discount: 0.5 }
    const rule = { ...rules, algorithm: 'dr_grpo', taskNormalization: 'none', stepGroups } as const
    const plan = planOf([group], rule)
    expect(plan.groups[0]?.advantages).toEqual([
      [-0.5 - 2 * 0.25, -0.5],
      [0.5 + 2 * 0.25, 0.5],
    ])
    expect(plan.groups[0]?.tokenWeights).toEqual([1 / 8, 1 / 8])
    // Σ|A| over tokens is 2·1 + 1·0.5 + 1·1 + 4·0.5 = 5.5, the other task's 4·0.5 = 2; both become half of the sum.
    const other = { task: 'os', rewards: [0, 1], actionTokens: [2, 2] }
    const equal = planOf([group, other], { ...rule, taskWeighting: 'equal' })
    expect(equal.tasks.get('db')?.gradientShare).toBeCloseTo(0.5, 12)
    expect(equal.groups[0]?.advantages[1]?.[1]).toBeCloseTo((0.5 * 3.75) / 5.5, 12)
  })

  // [BATCH-PLAN-1] [PREFERENCE-1]
  it('a group of equal rewards is learnt from where its steps are compared and one of them was better than another', () => {
    const episode = fc
      .array(fc.record({ state: fc.constantFrom('a', 'b', undefined), paid: fc.constantFrom(0, 1) }), {
        minLength: 1,
        maxLength: 6,
      })
      .map((steps) => ({ completed: true, keepsPay: true, steps, turnTokens: steps.map(() => 2) }))
    const batch = fc.tuple(fc.array(episode, { minLength: 2, maxLength: 4 }), fc.constantFrom(0, 1)).map(
      ([episodes, reward]): BatchGroup => ({
        task: 'os',
        rewards: episodes.map(() => reward),
        actionTokens: episodes.map(({ steps }) => 2 * steps.length),
        episodes,
      }),
    )
    const rule = { ...rules, algorithm: 'grpo', taskNormalization: 'per_task' } as const
    const alone = planOf([winner], rule)
    fc.assert(
      fc.property(batch, fc.constantFrom(0, 1), (group, weight) => {
        const plan = planOf([winner, group], { ...rule, stepGroups: { weight, discount: 0.5 } })
        // Another way to the same: a state in which two returns differ.
        const gains = (group.episodes ?? []).flatMap(({ steps }) =>
          steps.map(({ state }, from) => ({
            state,
            gain: steps.slice(from).reduce((sum, { paid }, later) => sum + paid * 0.5 ** later, 0),
          })),
        )
        const differs = gains.some((one) =>
          gains.some(({ state, gain }) => state !== undefined && state === one.state && gain !== one.gain),
        )
        const isLearnt = weight > 0 && differs
        const [first, second] = plan.groups
        expect(second?.inBatch).toEqual(group.rewards.map(() => isLearnt))
        expect(second?.tokenWeights.every((each) => each > 0)).toBe(isLearnt)
        expect(plan.withPreference).toBe(isLearnt ? 2 : 1)
        if (isLearnt) expect(second?.advantages.flat(2).some((advantage) => advantage !== 0)).toBe(true)
        else {
          expect(first).toEqual(alone.groups[0])
          expect(plan.tasks.get('db')).toEqual(alone.tasks.get('db'))
        }
      }),
    )
  })

  it('a batch of draws has no token to learn from', () => {
    const plan = planOf([draw, draw], { ...rules, algorithm: 'grpo', taskNormalization: 'per_task' })
    expect(plan).toMatchObject({ withPreference: 0, actionTokens: 0 })
  })

  it('reinforce_pp normalizes over the whole batch before the tasks', () => {
    const batch = [winner, { task: 'os', rewards: [0, 5], actionTokens: [2, 2] }]
    const plan = planOf(batch, { ...rules, algorithm: 'reinforce_pp', taskNormalization: 'none' })
    const moments = tokenMoments(
      plan.groups.map((group, index) => ({
        advantages: group.advantages.flat(2),
        actionTokens: batch[index]?.actionTokens ?? [],
      })),
    )
    expect(moments.mean).toBeCloseTo(0, 6)
    expect(moments.deviation).toBeCloseTo(1, 4)
  })

  it('the order of groups and episodes is kept, and every advantage is finite', () => {
    const groups = fc.array(
      fc
        .array(fc.tuple(fc.constantFrom(-0.2, 0, 0.3, 1), fc.nat(500)), { minLength: 2, maxLength: 8 })
        .map((episodes) => ({
          task: episodes.length % 2 === 0 ? 'a' : 'b',
          rewards: episodes.map(([reward]) => reward),
          actionTokens: episodes.map(([, length]) => length),
        })),
      { maxLength: 6 },
    )
    const arbitraryRules = fc.record({
      algorithm: fc.constantFrom(...algorithmNames),
      taskNormalization: fc.constantFrom('none', 'per_task', 'per_task_published'),
      taskWeighting: fc.constantFrom('none', 'equal'),
      negativeWeight: fc.constantFrom(0, 0.3, 1),
      lossAggregation: fc.constantFrom('token', 'episode', 'task'),
      taskWeights: fc.record({ a: fc.nat(3), b: fc.nat(3) }),
      imitation: fc.record({ coefficient: fc.constantFrom(0, 0.3) }),
      stepGroups: fc.constant({ weight: 0, discount: 1 }),
    })
    fc.assert(
      fc.property(groups, arbitraryRules, (batch, rule) => {
        const plan = planOf(batch, rule)
        expect(plan.groups.map((group) => group.advantages.length)).toEqual(
          batch.map((one) => one.rewards.length),
        )
        expect(plan.groups.flatMap((group) => group.advantages.flat(2)).every(Number.isFinite)).toBe(true)
      }),
    )
  })

  it('with groups of equally long episodes and a winner each, per_task divides all advantages by the same number', () => {
    // Eight rewards of one group: Σ A² = 7 after the division by the deviation, over 8 episodes of 10 tokens: σ² = 7·10/(80 − 1)
    const one = { task: 'db', rewards: [1, 0, 0, 0, 0, 0, 0, 0], actionTokens: new Array<number>(8).fill(10) }
    const two = { task: 'os', rewards: [5, 0, 5, 0, 0, 0, 0, 0], actionTokens: new Array<number>(8).fill(10) }
    const plan = planOf([one, two], { ...rules, algorithm: 'grpo', taskNormalization: 'per_task' })
    for (const [index, { rewards }] of [one, two].entries())
      for (const [sample, advantage] of groupAdvantages(rewards, grpo).entries())
        expect(plan.groups[index]?.advantages[sample]?.[0]).toBeCloseTo(advantage / Math.sqrt(70 / 79), 5)
  })

  it('lengths of 30 and 300 leave shares of 9 and 91 % of the gradient to per_task, and 50 each to equal weights', () => {
    const batch = [
      { task: 'db', rewards: [0, 1], actionTokens: [30, 30] },
      { task: 'os', rewards: [0, 1], actionTokens: [300, 300] },
    ]
    const perTask = { ...rules, algorithm: 'grpo', taskNormalization: 'per_task' } as const
    const sharesOf = (plan: BatchPlan) => [...plan.tasks.values()].map(({ gradientShare }) => gradientShare)
    expect(sharesOf(planOf(batch, perTask))[0]).toBeCloseTo(30 / 330, 2)
    expect(sharesOf(planOf(batch, { ...perTask, taskWeighting: 'equal' }))).toEqual([
      expect.closeTo(0.5, 9),
      expect.closeTo(0.5, 9),
    ])
  })

  it('the figures of a task are those of its groups with preference before normalization', () => {
    // advantages ∓0.5 at 3 and 1 tokens: mean (−1.5 + 0.5)/4 = −0.25, squares 3·0.0625 + 0.5625 = 0.75, /3 = 0.25, σ = 0.5
    const plan = planOf([winner, draw], { ...rules, algorithm: 'dr_grpo', taskNormalization: 'per_task' })
    expect(plan.tasks.get('db')).toEqual({
      moments: { mean: -0.25, deviation: 0.5, actionTokens: 4 },
      gradientShare: 1,
    })
  })
})
