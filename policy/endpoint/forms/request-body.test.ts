import { expect, test } from 'vitest'
import { isTooDeep, jsonOf } from './request-body.ts'

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

// [REQUEST-2]
test('a body of more parts than a conversation has is refused before they are read', () => {
  const body = (parts: number) =>
    JSON.stringify({ messages: Array(parts).fill({ text: 'one of very many' }) })
  expect(jsonOf(body(99_998))).toHaveProperty('messages')
  expect(() => jsonOf(body(99_999))).toThrow('the body has more than 100000 lists and objects')
})
