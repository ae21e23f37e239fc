import { expect, it } from 'vitest'
import { versionsInUse } from './versions-in-use.ts'

it('versions of groups, of their pools, of evaluations and of a roll-back are in use, and version 0 is', () => {
  const idle = { version: 9, pool: [], inFlight: [], evaluating: [], rollBackTo: null }
  expect(versionsInUse(idle)).toEqual([0, 9])
  const busy = {
    ...idle,
    pool: [5, 7],
    inFlight: [{ version: 8, pool: [3, 5] }],
    evaluating: [{ version: 6 }, { version: 9 }],
    rollBackTo: 2,
  }
  expect(versionsInUse(busy)).toEqual([0, 2, 3, 5, 6, 7, 8, 9])
})
