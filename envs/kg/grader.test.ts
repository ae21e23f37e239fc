import { expect, test } from 'vitest'
import { grade } from './grader.ts'

const set = (...values: string[]) => new Set(values)

test('the reward is 1 exactly when both sets have the same members', () => {
  expect(grade({ values: set('a', 'b'), complete: true }, set('b', 'a'))).toEqual({ reward: 1, f1: 1 })
  for (const values of [set(), set('a'), set('a', 'c'), set('a', 'b', 'c'), set('A', 'B')])
    expect(grade({ values, complete: true }, set('a', 'b')).reward).toBe(0)
})

test('F1 is that of precision and recall', () => {
  // 2 of 4 are right of 3: P = 1/2, R = 2/3, F1 = 2·(1/3)/(7/6) = 4/7.
  expect(grade({ values: set('a', 'b', 'x', 'y'), complete: true }, set('a', 'b', 'c')).f1).toBeCloseTo(
    4 / 7,
    12,
  )
  expect(grade({ values: set('x'), complete: true }, set('a')).f1).toBe(0)
  expect(grade({ values: set(), complete: true }, set('a')).f1).toBe(0)
})

test('a set whose members are not all known is never right', () => {
  expect(grade({ values: set('a'), complete: false }, set('a')).reward).toBe(0)
})
