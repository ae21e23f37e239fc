import { expect, test } from 'vitest'
import { versionAt, versionsOf } from './version-spans.ts'

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
