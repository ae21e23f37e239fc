import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planBatch } from './batch-plan.ts'
import { tokenMoments } from './task-normalization.ts'

const winner = { task: 'db', rewards: [0, 1], actionTokens: [3, 1] }
const draw = { task: 'db', rewards: [0, 0], actionTokens: [7, 7] }

describe('planBatch', () => {
  it('a group with equal rewards contributes nothing to the loss', () => {
    const plan = planBatch([winner, draw], { advantage: 'grpo', taskNormalization: 'per_task' })
    expect(plan.groups[1]).toEqual({ advantages: [0, 0], inLoss: false })
    expect(plan.groups[0]).toEqual(
      planBatch([winner], { advantage: 'grpo', taskNormalization: 'per_task' }).groups[0],
    )
    expect(plan.withPreference).toBe(1)
    expect(plan.actionTokens).toBe(4) // 3 + 1, without the 14 of the draw
  })

  it('the published arithmetic keeps a group with equal rewards in the loss', () => {
    const plan = planBatch([winner, draw], { advantage: 'grpo', taskNormalization: 'per_task_published' })
    expect(plan.groups[1]?.inLoss).toBe(true)
    expect(plan.groups[1]?.advantages[0]).toBeGreaterThan(0)
    expect(plan.actionTokens).toBe(18)
  })

  it('a batch of draws has no token to learn from', () => {
    const plan = planBatch([draw, draw], { advantage: 'grpo', taskNormalization: 'per_task' })
    expect(plan).toMatchObject({ withPreference: 0, actionTokens: 0 })
  })

  it('reinforce_pp normalizes over the whole batch before the tasks', () => {
    const batch = [winner, { task: 'os', rewards: [0, 5], actionTokens: [2, 2] }]
    const plan = planBatch(batch, { advantage: 'reinforce_pp', taskNormalization: 'none' })
    const moments = tokenMoments(
      plan.groups.map((group, index) => ({
        advantages: group.advantages,
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
    const rules = fc.record({
      advantage: fc.constantFrom('grpo', 'dr_grpo', 'rloo', 'reinforce_pp'),
      taskNormalization: fc.constantFrom('none', 'per_task', 'per_task_published'),
    })
    fc.assert(
      fc.property(groups, rules, (batch, rule) => {
        const plan = planBatch(batch, rule)
        expect(plan.groups.map((group) => group.advantages.length)).toEqual(
          batch.map((one) => one.rewards.length),
        )
        expect(plan.groups.flatMap((group) => group.advantages).every(Number.isFinite)).toBe(true)
      }),
    )
  })
})
