import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  chartSummary,
  columnsOf,
  marksAt,
  marksSummary,
  type Series,
  smoothed,
  stackedColumns,
} from './series.ts'

const axis = [1, 2, 3]
const colour = 'var(--series-0)'
const won: Series = { label: 'won', values: [1, null, 3], colour }
const lost: Series = { label: 'lost', values: [4, 5, null], colour }

// [SERIES-1]
test('the first column of a stack is the sum of all, and the last is the first series', () => {
  // 1+4, 5, 3; then won alone.
  expect(stackedColumns(axis, [won, lost])).toEqual([axis, [5, 5, 3], [1, null, 3]])
})

// [SERIES-2]
test('every column is as long as the axis, and intervals follow their values', () => {
  const banded = { ...won, low: [0, null, 2], high: [2, null, 4] }
  expect(columnsOf(axis, [banded, lost])).toEqual([axis, won.values, banded.low, banded.high, lost.values])
})

test('smoothing is the mean of what is near, and none changes nothing', () => {
  expect(smoothed([0, 3, 6, null, 9], 1)).toEqual([1.5, 3, 4.5, null, 9])
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer())), (values) => {
      expect(smoothed(values, 0)).toEqual(values)
      expect(smoothed(values, 2).map((value) => value === null)).toEqual(
        values.map((value) => value === null),
      )
    }),
  )
})

test('a series is described in words', () => {
  expect(chartSummary(won, String)).toBe('won: from 1 to 3, between 1 and 3.')
  expect(chartSummary({ ...won, values: [null] }, String)).toBe('won: no values yet.')
})

// [SERIES-3]
test('each mark is listed at the value that is nearest to it, with the others there', () => {
  const marks = [4, 6, 7, 10].map((at) => ({ at, text: `at ${at}`, colour: '' }))
  const placed = [0, 10].map((_, index) => marksAt(marks, [0, 10], index).map(({ at }) => at))
  expect(placed).toEqual([[4], [6, 7, 10]])
  const words = marksSummary(marks.slice(1, 3).toReversed(), { label: 'update', write: String })
  expect(words).toBe(' Marks: at update 6 at 6; at update 7 at 7.')
})
