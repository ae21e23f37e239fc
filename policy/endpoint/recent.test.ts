import { expect, test } from 'vitest'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { Recent } from './recent.ts'

// [RECENT-1]
test('the newest values are kept, by number, size and age', async () => {
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const recent = new Recent<number>({ most: 3, mostCharacters: 10, ms: 1000 })
    for (const value of [1, 2, 3, 4]) recent.keep(`${value}`, value, 1)
    expect(recent.newest()).toEqual([4, 3, 2])
    recent.keep('5', 5, 8)
    expect(recent.newest()).toEqual([5, 4, 3])
    recent.keep('6', 6, 3)
    expect(recent.newest()).toEqual([6])
    recent.keep('7', 7, 11)
    expect(recent.newest()).toEqual([])
    recent.keep('8', 8, 1)
    recent.keep('8', 9, 10)
    expect(recent.get('8')).toBe(9)
    await clock.advance(1000)
    expect(recent.get('8')).toBeUndefined()
  })
})
