import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { algorithms } from './algorithms.ts'
import { batchAdvantages } from './batch-advantages.ts'
import { planBatch } from './batch-plan.ts'
import { masses, weighTasks } from './task-weighting.ts'

describe('weighTasks', () => {
  it('gives each task its share and keeps the sum', () => {
    // masses 0.25·2·2 = 1 and 0.25·2·6 = 3; weights 1 and 3 leave shares of 1/4 and 3/4, weights 3 and 1 exchange them
    const groups = [
      { task: 'a', advantages: [2, -2], actionTokens: [1, 1], tokenWeights: [0.25, 0.25] },
      { task: 'b', advantages: [6, -6], actionTokens: [1, 1], tokenWeights: [0.25, 0.25] },
    ]
    expect(weighTasks(groups, { a: 1, b: 3 })).toEqual([
      [2, -2],
      [6, -6],
    ])
    expect(weighTasks(groups, { a: 3, b: 1 })).toEqual([
      [6, -6],
      [2, -2],
    ])
    expect(weighTasks(groups, {})).toEqual([
      [2, -2],
      [6, -6],
    ])
  })

  it('a task without a mass leaves its share to the others, and one without a weight says nothing', () => {
    const groups = [
      { task: 'a', advantages: [1, -1], actionTokens: [2, 2], tokenWeights: [0.1, 0.1] },
      { task: 'b', advantages: [0, 0], actionTokens: [2, 2], tokenWeights: [0.1, 0.1] },
      { task: 'c', advantages: [1, -1], actionTokens: [2, 2], tokenWeights: [0.1, 0.1] },
    ]
    expect(weighTasks(groups, { a: 2, b: 5, c: 0 })).toEqual([
      [2, -2],
      [0, 0],
      [0, 0],
    ])
  })

  const tasks = ['a', 'b', 'c'] as const
  const scales = fc.record({
    a: fc.constantFrom(0.01, 1, 100),
    b: fc.constantFrom(0.01, 1, 100),
    c: fc.constantFrom(0.01, 1, 100),
  })
  const group = fc.record({
    task: fc.constantFrom(...tasks),
    episodes: fc.array(fc.tuple(fc.constantFrom(-0.2, 0, 0.5, 1), fc.integer({ min: 1, max: 900 })), {
      minLength: 2,
      maxLength: 8,
    }),
  })

  // [TASK-WEIGHTING-1] [TASK-WEIGHTING-2]
  it("each task's share of the sum of |A| is its weight to 1e-6, over lengths, numbers of groups and scales of rewards", () => {
    const rules = fc.record({
      algorithm: fc.constantFrom('grpo', 'dr_grpo', 'rloo', 'reinforce_pp'),
      taskNormalization: fc.constantFrom('none', 'per_task', 'per_task_published'),
      negativeWeight: fc.constantFrom(0.3, 1),
      lossAggregation: fc.constantFrom('token', 'episode', 'task'),
      taskWeights: fc.record({
        a: fc.double({ min: 0.1, max: 9, noNaN: true }),
        b: fc.double({ min: 0.1, max: 9, noNaN: true }),
        c: fc.double({ min: 0.1, max: 9, noNaN: true }),
      }),
    })
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 9 }), scales, rules, (groups, scale, rule) => {
        const batch = groups.map(({ task, episodes }) => ({
          task,
          rewards: episodes.map(([reward]) => reward * scale[task]),
          actionTokens: episodes.map(([, length]) => length),
        }))
        const spoken = (weighting: 'none' | 'equal') => {
          const policy = {
            imitation: { coefficient: 0 },
            taskWeighting: weighting,
          } as const
          const steps = { stepGroups: { weight: 0, discount: 1 } }
          const advantages = batchAdvantages(algorithms[rule.algorithm], batch, steps)
          const plan = planBatch(batch, advantages, { ...rule, ...policy })
          // As the trainer reads them.
          const inFile = plan.groups.map((planned, index) => ({
            ...planned,
            task: batch[index]?.task ?? '',
            actionTokens: batch[index]?.actionTokens ?? [],
            advantages: [...Float32Array.from(planned.advantages.flat(2))],
          }))
          return masses(inFile)
        }
        const [before, after] = [spoken('none'), spoken('equal')]
        const total = [...before.values()].reduce((sum, mass) => sum + mass, 0)
        const present = tasks.filter((task) => (before.get(task) ?? 0) > 0)
        const weight = present.reduce((sum, task) => sum + rule.taskWeights[task], 0)
        for (const task of present)
          expect(Math.abs((after.get(task) ?? 0) / total - rule.taskWeights[task] / weight)).toBeLessThan(
            1e-6,
          )
      }),
      { numRuns: 300 },
    )
  })
})
