import { expect, test } from 'vitest'
import { Table } from './table.ts'

const table = new Table({
  head: ['suite', 'success'],
  aligns: ['left', 'right'],
  rows: [
    ['held_out', '10.0 % (1.8–40.4) of a good many'],
    ['other', ''],
  ],
})

test('a table that fits has its borders, one row a line [TABLE-1]', () => {
  const lines = table.inWidth(80).split('\n')
  expect(lines).toHaveLength(6)
  expect(lines[3]).toBe('│ held_out │ 10.0 % (1.8–40.4) of a good many │')
  expect(table.inWidth(Number.POSITIVE_INFINITY)).toBe(table.inWidth(80))
})

test('one that does not fit is a list, whose lines fit and keep their words [TABLE-2]', () => {
  expect(table.inWidth(30)).toBe(
    ['suite    held_out', 'success  10.0 % (1.8–40.4) of', '         a good many', '', 'suite    other'].join(
      '\n',
    ),
  )
})

test('a cell holds no control codes, whether the table fits or not [TABLE-3]', () => {
  const hostile = new Table({ head: ['na\u001b[8mme'], rows: [['cl\u001b[2Jear'], ['\u009b1m']] })
  for (const width of [80, 5]) {
    const text = hostile.inWidth(width)
    expect(text).toContain('cl␛[2Jear')
    expect(text).not.toMatch(/(?!\n)\p{Cc}/u)
  }
})
