import { expect, test } from 'vitest'
import { entitiesOf, lengthOf, type SetDerivation } from './derivation.ts'

const start: SetDerivation = { kind: 'entity', id: 'a' }

test('its length counts every part as often as it is used, so it bounds the query that it is written as', () => {
  let set: SetDerivation = { kind: 'neighbors', of: start, relation: 'r' }
  expect(lengthOf(set)).toBe(2)
  // 2 → 2·2 + 1 → 2·5 + 1
  for (const length of [5, 11]) {
    set = { kind: 'intersection', left: set, right: set }
    expect(lengthOf(set)).toBe(length)
  }
})

test('shared parts are measured and walked once, however often they are doubled', () => {
  let set: SetDerivation = start
  for (let times = 0; times < 200; times++) set = { kind: 'intersection', left: set, right: set }
  expect(lengthOf(set)).toBeGreaterThan(1e60)
  expect(entitiesOf(set)).toEqual(['a'])
})
