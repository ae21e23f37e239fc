/** Numbers for people. */
import { expect, test } from 'vitest'
import { bytes, count, duration, points, share } from './wording.ts'

test('numbers are written the same on every machine', () => {
  expect([share(0.41372), points(-0.05), count(1_234_567)]).toEqual(['41.4 %', '−5.0', '1,234,567'])
  expect([9.4, 250, 3599.6, 7500].map(duration)).toEqual(['9 s', '4 min 10 s', '1 h 00 min', '2 h 05 min'])
  expect([999, 12_345_678, 2.5e13].map(bytes)).toEqual(['999 B', '12.3 MB', '25.0 TB'])
})

test('a number that is not finite reads as a dash', () => {
  expect([share, points, count, duration, bytes].map((write) => write(Number.NaN))).toEqual(
    Array(5).fill('–'),
  )
})
