import { expect, test } from 'vitest'
import { stepOfVersion } from './version-step.ts'

// [VERSION-STEP-1]
test('a version belongs to the update that made it, and one that a roll-back made to the last update before it', () => {
  // After the second update the run is rolled back, as version 3; the fourth update is refused.
  const updates = [
    { step: 1, version: 1 },
    { step: 2, version: 2 },
    { step: 3, version: 4 },
    { step: 4, version: 4 },
    { step: 5, version: 5 },
  ]
  expect([0, 1, 2, 3, 4, 5, 6].map((version) => stepOfVersion(updates, version))).toEqual([
    0, 1, 2, 2, 3, 5, 5,
  ])
  expect(stepOfVersion([], 7)).toBe(0)
})
