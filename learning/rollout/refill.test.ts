import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mostSkipped, teaches, trainedOn } from './refill.ts'

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
  })

  it('skips whole groups', () => {
    expect(mostSkipped({ groupsPerUpdate: 16, refill: 2 })).toBe(32)
    expect(mostSkipped({ groupsPerUpdate: 3, refill: 0.5 })).toBe(1)
    expect(mostSkipped({ groupsPerUpdate: 16, refill: 0 })).toBe(0)
  })
})
