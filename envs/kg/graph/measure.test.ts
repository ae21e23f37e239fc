import { expect, test } from 'vitest'
import { extremes, measureOf } from './measure.ts'

test.each([
  ['7', 7],
  ['-0.5', -0.5],
  ['+1e3', 1000],
  ['.25', 0.25],
  ['007', 7],
])('%s is a number', (text, value) => {
  expect(measureOf(text)).toEqual({ kind: 'number', value })
})

test.each([
  ['1970-01-02', 86_400_000],
  ['1970-02', 31 * 86_400_000],
  ['1970-01-01T00:00:01.5', 1500],
  ['1970-01-01T24:00', 86_400_000],
  ['1970-01-01T01:00+01:00', 0],
  ['1970-01-01-08:00', 8 * 3_600_000],
  // 365 days before the year 1 of the proleptic calendar begins the year 0, a leap year: 719,528 days to 1970.
  ['0000-01-01', -719_528 * 86_400_000],
])('%s is a date', (text, value) => {
  expect(measureOf(text)).toEqual({ kind: 'date', value })
})

test('a text has a measure or none, and never throws; days that no calendar has are no dates', () => {
  const texts = [
    '',
    ' ',
    '7 km',
    '1,000',
    '0x10',
    'Infinity',
    'NaN',
    '1e999',
    '--1',
    '2021-02-29',
    '2021-13-01',
  ]
  for (const text of [
    ...texts,
    '2021-00-10',
    '1970-01-01T24:30',
    '1970-01-01T25:00',
    '1970-01-01+99:99',
    'x'.repeat(1_000_000),
    '9'.repeat(100),
  ])
    expect(measureOf(text), text.slice(0, 20)).toBeUndefined()
  expect(measureOf('2020-02-29')).toBeDefined()
})

function measured(values: Record<string, string>) {
  return Object.entries(values).flatMap(([member, text]) => {
    const measure = measureOf(text)
    return measure === undefined ? [] : [{ member, measure }]
  })
}

test('all who share the extreme value are members', () => {
  const values = measured({ a: '2', b: '10', c: '10.0', d: 'tall' })
  expect(extremes(values, 'argmax')).toEqual(new Set(['b', 'c']))
  expect(extremes(values, 'argmin')).toEqual(new Set(['a']))
  expect(extremes([], 'argmax')).toEqual(new Set())
})

test('where dates are compared, a whole number is the beginning of that year, and other numbers do not count', () => {
  const values = measured({
    early: '1999',
    late: '1999-05-01',
    huge: '123456',
    half: '1998.5',
    old: '-0044-03-15',
  })
  expect(extremes(values, 'argmax')).toEqual(new Set(['late']))
  expect(extremes(values.slice(0, 4), 'argmin')).toEqual(new Set(['early']))
  expect(extremes(values, 'argmin')).toEqual(new Set(['old']))
})
