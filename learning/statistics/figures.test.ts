import { expect, test } from 'vitest'
import { bytes, count, duration, plain, points } from './figures.ts'

test('a figure without a unit has four digits or so', () => {
  expect([0, 1.23456, -0.000123456, 1e6].map(plain)).toEqual(['0', '1.235', '-1.23e-4', '1,000,000'])
})

test('a number that is not finite reads as a dash', () => {
  expect([points, count, duration, bytes, plain].map((write) => write(Number.NaN))).toEqual(
    Array(5).fill('–'),
  )
})
