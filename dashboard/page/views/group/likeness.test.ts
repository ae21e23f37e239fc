import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstDifference, likenesses } from './likeness.ts'

test('what most samples did is number 0, and who did otherwise has another', () => {
  expect(likenesses([['look', 'open'], ['look', 'go'], ['look', 'go', 'take'], ['help']])).toEqual([
    [0, 0, 0, 1],
    [1, 0, 0, null],
    [null, null, 0, null],
  ])
})

// [LIKENESS-1]
test('two samples have the same number at a turn exactly if they did the same', () => {
  const actions = fc.array(fc.array(fc.constantFrom('a', 'b', 'c')), { maxLength: 6 })
  fc.assert(
    fc.property(actions, (samples) => {
      likenesses(samples).forEach((row, turn) => {
        row.forEach((number, one) => {
          row.forEach((other, two) => {
            expect(number === other).toBe(samples[one]?.[turn] === samples[two]?.[turn])
          })
        })
      })
    }),
  )
})

const won = (...actions: readonly string[]) => ({ success: true, actions })
const lost = (...actions: readonly string[]) => ({ success: false, actions })

// [LIKENESS-2]
test('winners differ at the first turn at which nothing that one did was done by a loser', () => {
  // At turn 1 samples part, but one of those that lost did what the winner did.
  const samples = [won('look', 'go', 'take'), lost('look', 'go', 'open'), lost('look', 'open', 'drop')]
  expect(firstDifference(samples)).toEqual({ turn: 2, winners: ['take'], losers: ['open', 'drop'] })
  expect(firstDifference([won('a', 'x'), won('a', 'y'), lost('a', 'z')])).toEqual({
    turn: 1,
    winners: ['x', 'y'],
    losers: ['z'],
  })
})

test('a winner that went on where all others were over differs there', () => {
  expect(firstDifference([won('a', 'b'), lost('a')])).toEqual({ turn: 1, winners: ['b'], losers: [] })
})

test('there is no difference without winners, without losers, or where all did the same', () => {
  expect(firstDifference([lost('a'), lost('b')])).toBeNull()
  expect(firstDifference([won('a'), won('b')])).toBeNull()
  expect(firstDifference([won('a'), lost('a', 'b')])).toBeNull()
  expect(firstDifference([])).toBeNull()
})
