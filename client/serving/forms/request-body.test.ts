import { expect, test } from 'vitest'
import { isTooDeep } from './request-body.ts'

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)

// [NESTING-1]
test('values of any depth are measured', () => {
  expect([nested(3), nested(4), { a: [{}] }, 'text', null].map((value) => isTooDeep(value, 3))).toEqual([
    false,
    true,
    false,
    false,
    false,
  ])
  expect(isTooDeep(nested(1_000_000))).toBe(true)
})
