import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupAdvantages, hasPreference } from './group-rewards.ts'
import { grpo } from './grpo.ts'
import { normalizeByTask, tokenMoments, type WeighedGroup } from './task-normalization.ts'

function group(task: string, rewards: readonly number[], actionTokens: readonly number[]): WeighedGroup {
  return {
    task,
    advantages: groupAdvantages(rewards, grpo),
    actionTokens,
    preference: hasPreference(rewards),
  }
}

/** One winner of eight: it needs 100 tokens, the losers 400 each. */
const oneWinner = group('db', [1, 0, 0, 0, 0, 0, 0, 0], [100, 400, 400, 400, 400, 400, 400, 400])

function allFail(length: number): WeighedGroup {
  return group('db', new Array(8).fill(0), new Array(8).fill(length))
}

const arbitraryGroup = fc
  .record({
    task: fc.constantFrom('alfworld', 'db', 'kg'),
    episodes: fc.array(fc.tuple(fc.constantFrom(-0.2, 0, 0.5, 1), fc.integer({ min: 1, max: 900 })), {
      minLength: 2,
      maxLength: 8,
    }),
  })
  .map(({ task, episodes }) =>
    group(
      task,
      episodes.map(([reward]) => reward),
      episodes.map(([, length]) => length),
    ),
  )
const arbitraryBatch = fc.array(arbitraryGroup, { minLength: 1, maxLength: 8 })

describe('normalizeByTask', () => {
  it('normalizeByTask() weighs advantages by action tokens', () => {
    // advantages ±0.70711 at 3 and 1 tokens: μ = (−3 + 1)/4 · 0.70711 = −0.353553
    // squares 3·0.353553² + 1·1.06066² = 1.5, unbiased variance 1.5/3 = 0.5, σ = 0.707107
    // (−0.707107 + 0.353553)/0.707107 = −0.5, (0.707107 + 0.353553)/0.707107 = 1.5
    const [normalized] = normalizeByTask([group('kg', [0, 1], [3, 1])], 'per_task')
    expect(normalized?.[0]).toBeCloseTo(-0.5, 4)
    expect(normalized?.[1]).toBeCloseTo(1.5, 4)
  })

  it('the published arithmetic gives an all-fail group −μ/σ: +0.38 beside one winner of eight at lengths 100/400', () => {
    // tokens 100 + 7·400 + 8·200 = 4500; sum 100·2.474874 − 2800·0.353553 = −742.46, μ = −0.164991
    // squares 100·6.125 + 2800·0.125 = 962.5; variance 962.5/4500 − 0.027222 = 0.186667, σ = 0.432049
    // −μ/σ = 0.3819
    const [, fail] = normalizeByTask([oneWinner, allFail(200)], 'per_task_published')
    expect(fail).toHaveLength(8)
    for (const value of fail ?? []) expect(value).toBeCloseTo(0.38, 2)
    // with all-fail episodes of 400 tokens: μ = −742.46/6100, σ = 0.378112, −μ/σ = 0.3219
    expect(normalizeByTask([oneWinner, allFail(400)], 'per_task_published')[1]?.[0]).toBeCloseTo(0.32, 2)
  })

  // [TASK-NORM-2]
  it('a group without preference changes no other advantage in per_task and keeps zero', () => {
    const alone = normalizeByTask([oneWinner], 'per_task')
    const [beside, fail] = normalizeByTask([oneWinner, allFail(200)], 'per_task')
    expect(beside).toEqual(alone[0])
    expect(fail).toEqual(new Array(8).fill(0))
  })

  // [TASK-NORM-1]
  it("each task's advantages have mean 0 and deviation 1 over its action tokens after per_task", () => {
    fc.assert(
      fc.property(arbitraryBatch, (batch) => {
        const normalized = normalizeByTask(batch, 'per_task')
        for (const task of new Set(batch.map((one) => one.task))) {
          const counted = batch
            .map((one, index) => ({ ...one, advantages: normalized[index] ?? [] }))
            .filter((one) => one.task === task && one.preference)
          if (counted.length === 0) continue
          const { mean, deviation } = tokenMoments(counted)
          expect(mean).toBeCloseTo(0, 6)
          expect(deviation).toBeCloseTo(1, 4)
        }
      }),
    )
  })

  // [TASK-NORM-3]
  it('tasks do not influence each other', () => {
    fc.assert(
      fc.property(arbitraryBatch, fc.constantFrom('per_task', 'per_task_published'), (batch, mode) => {
        const together = normalizeByTask(batch, mode)
        for (const task of new Set(batch.map((one) => one.task))) {
          const alone = normalizeByTask(
            batch.filter((one) => one.task === task),
            mode,
          )
          expect(together.filter((_, index) => batch[index]?.task === task)).toEqual(alone)
        }
      }),
    )
  })

  it('normalizeByTask() of none gives the advantages back', () => {
    expect(normalizeByTask([oneWinner], 'none')[0]).toEqual(oneWinner.advantages)
  })

  it('normalizeByTask() gives finite numbers where a task has no tokens or one', () => {
    for (const lengths of [
      [0, 0],
      [1, 0],
      [0, 5],
    ])
      for (const value of normalizeByTask([group('os', [0, 1], lengths)], 'per_task')[0] ?? [])
        expect(Number.isFinite(value)).toBe(true)
  })

  it('normalizeByTask() refuses lengths that do not fit', () => {
    expect(() => normalizeByTask([{ ...oneWinner, actionTokens: [1] }], 'per_task')).toThrow(RangeError)
    expect(() => normalizeByTask([group('os', [0, 1], [1, -1])], 'per_task')).toThrow('-1 action tokens')
  })
})
