import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupTeaches, mostSkipped, teaches, trainedOn } from './refill.ts'

describe('refill', () => {
  it('an update trains on what teaches something, and fills up with the first of the others', () => {
    expect(trainedOn([false, true, false, true], 3)).toEqual([true, true, false, true])
    expect(trainedOn([false, false, false], 2)).toEqual([true, true, false])
    expect(trainedOn([true, true], 1)).toEqual([true, true])
    expect(trainedOn([], 4)).toEqual([])
  })

  // [REFILL-2]
  it('never leaves out what teaches something, and takes B groups wherever there are as many', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (teaches, most) => {
          const taken = trainedOn(teaches, most)
          expect(taken.filter((_, index) => teaches[index]).every((one) => one)).toBe(true)
          const teaching = teaches.filter((one) => one).length
          expect(taken.filter((one) => one)).toHaveLength(Math.max(teaching, Math.min(most, teaches.length)))
        },
      ),
    )
  })

  it('a group teaches something where its rewards differ; where what was won is imitated alone, where one was won', () => {
    const rules = { taskNormalization: 'per_task', algorithm: 'grpo', imitation: { coefficient: 0 } } as const
    const alone = { ...rules, algorithm: 'imitation' } as const
    expect(
      [
        [0, 1],
        [1, 1],
        [0, 0],
      ].map((rewards) => teaches(rewards, rules, { atLeast: 1 })),
    ).toEqual([true, false, false])
    expect(
      [
        [0, 1],
        [1, 1],
        [0, 0.5],
      ].map((rewards) => teaches(rewards, alone, { atLeast: 1 })),
    ).toEqual([true, true, false])
    const best = { ...alone, imitation: { coefficient: 0, by: 'best' } } as const
    expect(
      [
        [1, 2],
        [2, 2],
      ].map((rewards) => teaches(rewards, best, { atLeast: 1 })),
    ).toEqual([true, false])
    expect(teaches([0, 0], { ...rules, taskNormalization: 'per_task_published' }, { atLeast: 1 })).toBe(true)
    expect(teaches([0, 0], { ...rules, algorithm: 'distillation' }, { atLeast: 1 })).toBe(true)
  })

  // [REFILL-3]
  it('a group of equal rewards teaches something by its turns, where a built-in algorithm or step groups compare them', () => {
    const rules = { taskNormalization: 'per_task', algorithm: 'grpo', imitation: { coefficient: 0 } } as const
    const off = { ...rules, stepGroups: { weight: 0, discount: 0.5 } }
    const steps = { ...rules, stepGroups: { weight: 1, discount: 0.5 } }
    const step = { state: 'a', paid: 0 }
    const winsIn = (turns: number) => ({
      ...{ completed: true, keepsPay: true, turnTokens: Array.from({ length: turns }, () => 1) },
      steps: Array.from({ length: turns }, (_, turn) => ({ ...step, paid: turn === turns - 1 ? 1 : 0 })),
    })
    const won = (...turns: readonly number[]) => ({
      ...{ task: 'db', rewards: turns.map(() => 1), actionTokens: [...turns], episodes: turns.map(winsIn) },
    })
    expect(groupTeaches(won(1, 3), steps)).toBe(true)
    expect(groupTeaches(won(1, 3), off)).toBe(false)
    expect(groupTeaches(won(1, 3), { ...off, algorithm: 'gagpo' })).toBe(true)
    // Each is in the state once, at its only turn, and wins: nothing was better.
    expect(groupTeaches(won(1, 1), steps)).toBe(false)
    expect(groupTeaches({ task: 'db', rewards: [1, 1], actionTokens: [1, 3] }, steps)).toBe(false)
    expect(groupTeaches({ ...won(1, 1), rewards: [0, 1] }, off)).toBe(true)
    // Imitation alone has no advantage to compare, and what a module compares is known in the update.
    const lost = { ...won(1, 3), rewards: [0, 0] }
    expect(groupTeaches(lost, { ...steps, algorithm: 'imitation' })).toBe(false)
    expect(groupTeaches(won(1, 3), { ...steps, algorithm: '/my/own.ts' })).toBe(false)
  })

  it('skips whole groups', () => {
    expect(mostSkipped({ groupsPerUpdate: 16, refill: 2 })).toBe(32)
    expect(mostSkipped({ groupsPerUpdate: 3, refill: 0.5 })).toBe(1)
    expect(mostSkipped({ groupsPerUpdate: 16, refill: 0 })).toBe(0)
  })
})
