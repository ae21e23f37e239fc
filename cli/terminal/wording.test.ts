/** Numbers for people. */
import { expect, test } from 'vitest'
import { bytes, count, duration, points, runSeconds } from './wording.ts'

test('numbers are written the same on every machine', () => {
  expect([points(-0.05), count(1_234_567)]).toEqual(['−5.0', '1,234,567'])
  expect([9.4, 250, 3599.6, 7500].map(duration)).toEqual(['9 s', '4 min 10 s', '1 h 00 min', '2 h 05 min'])
  expect([999, 12_345_678, 2.5e13].map(bytes)).toEqual(['999 B', '12.3 MB', '25.0 TB'])
})

test('the time of a run counts from its start, and stops once it has ended', () => {
  const created = 1_700_000_000_000
  const ended = created + 250_000
  expect(runSeconds({ created }, created + 90_000)).toBe(90)
  const looks = [ended, ended + 1, ended + 86_400_000]
  expect(looks.map((now) => runSeconds({ created, ended }, now))).toEqual([250, 250, 250])
  // A run that was resumed has no end again, and its breaks count.
  expect(runSeconds({ created, ended: undefined }, ended + 60_000)).toBe(310)
})

test('a number that is not finite reads as a dash', () => {
  expect([points, count, duration, bytes].map((write) => write(Number.NaN))).toEqual(Array(4).fill('–'))
})
