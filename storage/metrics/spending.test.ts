import { expect, it } from 'vitest'
import { update } from './metrics.testing.ts'
import { spendingOf } from './spending.ts'

/** Each update's time is the same; a run began 100 s before, and published version 0 after 70 s. */
const time = Date.parse(update(1).time)
const created = time - 100_000
const published = new Map([
  [0, { at: created + 70_000, cpuSeconds: 60 }],
  [2, { at: created + 101_500, cpuSeconds: 95 }],
])
const updates = [update(1), update(2)]

// [SPENDING-1]
it('seconds and CPU seconds of a version begin where version 0 was published', () => {
  const of = { created, at: created + 999_000, published }
  expect(spendingOf([], { ...of, version: 0 })).toMatchObject({ updates: 0, seconds: 0, cpuSeconds: 0 })
  expect(spendingOf(updates, { ...of, version: 2 })).toEqual({
    updates: 2,
    episodes: 2 * 128,
    tokens: 2 * 12_345,
    seconds: 101.5 - 70,
    cpuSeconds: 95 - 60,
  })
})

it('a run that an earlier build began has the seconds since its beginning, and CPU seconds of no version', () => {
  const of = { created, at: created + 71_000, published: new Map() }
  expect(spendingOf([], { ...of, version: 0 })).toMatchObject({ seconds: 71 })
  const found = spendingOf(updates, { ...of, version: 2 })
  expect(found).toMatchObject({ seconds: 100 })
  expect(found).not.toHaveProperty('cpuSeconds')
})
