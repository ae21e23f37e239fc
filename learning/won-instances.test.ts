import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isWonIn, mostFollowed, nextPosition, noneWon, withOutcome } from './won-instances.ts'

it('what is remembered of an instance is its last outcome, and that of no other', () => {
  const outcomes = fc.array(fc.tuple(fc.nat(29), fc.boolean()), { maxLength: 80 })
  fc.assert(
    fc.property(outcomes, (played) => {
      let won = noneWon(30)
      const expected = new Map<number, boolean>()
      for (const [instance, isWon] of played) {
        won = withOutcome(won, instance, isWon)
        expected.set(instance, isWon)
      }
      expect(won).toHaveLength(8) // 30 instances, four a digit
      for (let instance = 0; instance < 30; instance++)
        expect(isWonIn(won, instance)).toBe(expected.get(instance) ?? false)
    }),
  )
})

// [WON-INSTANCES-1]
it('only won instances are passed over, by the draw of their turn, for a round at most', () => {
  const won = withOutcome(withOutcome(noneWon(5), 1, true), 2, true)
  expect(nextPosition(5, { size: 5, won }, 0, () => 0.9)).toBe(5)
  expect(nextPosition(6, { size: 5, won }, 0, () => 0.9)).toBe(8)
  expect(nextPosition(6, { size: 5, won }, 0.5, (position) => (position === 7 ? 0.4 : 0.6))).toBe(7)
  expect(nextPosition(6, { size: 5, won }, 1, () => 0.99)).toBe(6)
  const all = [0, 1, 2].reduce((known, instance) => withOutcome(known, instance, true), noneWon(3))
  expect(nextPosition(4, { size: 3, won: all }, 0, () => 0.5)).toBe(7)
})

// [WON-INSTANCES-2]
it('so many instances are followed that all tasks together stay within the bound', () => {
  for (const tasks of [1, 5, 64])
    expect(tasks * noneWon(mostFollowed(tasks)).length).toBeLessThanOrEqual(16_384 + tasks)
})
