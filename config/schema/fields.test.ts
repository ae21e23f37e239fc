/** Fields read off the schema, and the nearest of them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editDistance, nearest } from '../files/fault.ts'
import { loadConfig } from '../files/loader.ts'
import { configFields, fieldAt, keysOf } from './fields.ts'

test('every field has a description', () => {
  expect(configFields().filter(({ description }) => description === '')).toEqual([])
})

test('every field that is not a section has a default or may be absent', () => {
  const config = loadConfig({})
  const absent = configFields().filter((field) => !field.section && field.default === undefined)
  const values = absent.map(({ key }) =>
    key.split('.').reduce<unknown>((at, part) => Reflect.get(Object(at), part === 'N' ? 0 : part), config),
  )
  expect(values.every((value) => value === undefined)).toBe(true)
})

test("a list's fields are named with N in place of the index", () => {
  expect(fieldAt(['tasks', 3, 'weight'])?.key).toBe('tasks.N.weight')
  expect(keysOf(['tasks', 3])).toContain('split')
})

test('the distance of two words counts inserts, deletes, changes and swaps', () => {
  expect(editDistance('trian', 'train')).toBe(1) // one swap
  expect(editDistance('step', 'steps')).toBe(1) // one insert
  expect(editDistance('kitten', 'sitting')).toBe(3) // k→s, e→i, +g
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a))
      expect(editDistance(a, b) === 0).toBe(a === b)
    }),
  )
})

test('the nearest key does not depend on how a word is cased', () => {
  expect(nearest('GROUP_SIZE', keysOf(['rollout']))).toBe('groupSize')
  expect(nearest('x', [])).toBeUndefined()
})
