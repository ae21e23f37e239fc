/** A setting as it held earlier. */
import { expect, it } from 'vitest'
import type { AuditEntry } from '../../storage/records/audit.ts'
import { settingAt } from './past-settings.ts'

function order(what: string, from: number, to: number, effectVersion: number | null): AuditEntry {
  return {
    number: 0,
    time: 0,
    by: 'someone',
    what,
    from,
    to,
    version: effectVersion ?? 9,
    effectVersion,
    reason: null,
  }
}

// [PAST-1] Ordered at version 3 and 5, so the updates that published 4 and 6 are the first with them.
it('is the last one that was ordered before the update, and the first one where none was', () => {
  const trail = [order('learning.clipHigh', 0.2, 0.3, 3), order('learning.clipHigh', 0.3, 0.4, 5)]
  const at = (version: number) => settingAt(trail, { key: 'learning.clipHigh', version, now: 0.4 })
  expect([1, 3, 4, 5, 6, 9].map(at)).toEqual([0.2, 0.2, 0.3, 0.3, 0.4, 0.4])
  expect(settingAt(trail, { key: 'learning.klCoefficient', version: 1, now: 7 })).toBe(7)
})

// [PAST-1]
it('is the one before an order that no version has had yet', () => {
  const trail = [order('tasks.0.weight', 1, 2, null)]
  expect(settingAt(trail, { key: 'tasks.0.weight', version: 4, now: 2 })).toBe(1)
})
