import fc from 'fast-check'
import { expect, test } from 'vitest'
import { calledName, fieldsOf, quoted } from './tool-call.ts'

const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true })

test('whatever a call holds, reading it never throws', () => {
  fc.assert(
    fc.property(anything, (call) => {
      expect(typeof fieldsOf(call)).toBe('object')
      expect(calledName(call, 'act').length).toBeGreaterThan(0)
      expect(quoted(call)).toMatch(/^".*"$/s)
    }),
  )
  expect(fieldsOf(null)).toEqual({})
  expect(fieldsOf('name')).toEqual({})
})

test('of a name or value that the agent made up, no more than the limit comes back to it', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), fc.integer({ min: 1, max: 80 }), (text, limit) => {
      expect(calledName({ name: text }, 'act', limit)).toBe(text === '' ? 'act' : text.slice(0, limit))
      expect(quoted(text, limit)).toBe(text.length > limit ? `"${text.slice(0, limit)}…"` : `"${text}"`)
    }),
  )
  expect(calledName({ name: 'x'.repeat(1_000_000) }, 'act')).toHaveLength(40)
})

test('a call without a name is answered under the one given for it', () => {
  for (const call of [undefined, null, 'act', {}, { name: '' }, { name: 7 }])
    expect(calledName(call, 'take_action')).toBe('take_action')
})

test('a value that is no text is quoted as its type', () => {
  expect([7, true, null, undefined, {}, []].map((value) => quoted(value))).toEqual([
    '"number"',
    '"boolean"',
    '"object"',
    '"undefined"',
    '"object"',
    '"object"',
  ])
})
