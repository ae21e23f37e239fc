import { expect, test } from 'vitest'
import { areSpansOf, versionAt, versionsOf } from './version-spans.ts'

// [SPAN-2]
test('a token of a turn that was cut by an update has the version that sampled it', () => {
  const spans = [
    { version: 4, tokens: 2 },
    { version: 6, tokens: 1 },
  ]
  expect([0, 1, 2].map((index) => versionAt({ version: 4, spans }, index))).toEqual([4, 4, 6])
  expect(versionsOf({ version: 4, spans })).toEqual([4, 6])
  expect([0, 9].map((index) => versionAt({ version: 3 }, index))).toEqual([3, 3])
  expect(versionsOf({ version: 3 })).toEqual([3])
})

// [SPAN-1]
test('spans belong to a turn when they begin with its version and cover each of its tokens', () => {
  const action = { version: 4, tokens: { length: 3 } }
  const spans = [
    { version: 4, tokens: 2 },
    { version: 6, tokens: 1 },
  ]
  expect(areSpansOf(action, spans)).toBe(true)
  expect(areSpansOf({ ...action, version: 6 }, spans)).toBe(false)
  expect(areSpansOf({ ...action, tokens: { length: 4 } }, spans)).toBe(false)
  expect(areSpansOf({ ...action, tokens: { length: 2 } }, spans)).toBe(false)
})
