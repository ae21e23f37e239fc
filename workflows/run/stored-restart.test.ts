import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../storage/records/audit.ts'
import { hasRestartedTooOften } from './stored-restart.ts'

const minuteMs = 60_000
const now = 10 * 60 * minuteMs

function restart(version: number, minutesAgo: number, what = 'restart'): AuditEntry {
  const time = now - minutesAgo * minuteMs
  return {
    number: 0,
    time,
    by: 'takeover',
    what,
    from: null,
    to: null,
    version,
    effectVersion: version,
    reason: null,
  }
}

describe('a run that restarts from the store', () => {
  // [STORED-RESTART-2]
  it('waits for a person after three restarts for the same version within an hour', () => {
    const thrice = [restart(4, 50), restart(4, 20), restart(4, 1)]
    expect(hasRestartedTooOften(thrice, { version: 4, now })).toBe(true)
    expect(hasRestartedTooOften(thrice.slice(1), { version: 4, now })).toBe(false)
    expect(hasRestartedTooOften(thrice, { version: 5, now })).toBe(false)
    expect(hasRestartedTooOften([...thrice.slice(1), restart(4, 61)], { version: 4, now })).toBe(false)
    expect(hasRestartedTooOften([...thrice.slice(1), restart(4, 2, 'pause')], { version: 4, now })).toBe(
      false,
    )
  })
})
