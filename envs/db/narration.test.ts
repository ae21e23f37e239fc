import { expect, test } from 'vitest'
import type { Cell } from '../../worlds/mysql/database.ts'
import { reprOfFloat, reprOfText, tellOfficially, tellShortly } from './narration.ts'

function rows(...cells: Cell[][]) {
  return { kind: 'rows', rows: cells, truncated: false } as const
}

test('rows are written as Python prints a list of tuples, each kind in its way', () => {
  const text: Cell = { kind: 'text', text: 'a' }
  expect(tellOfficially(rows([text]))).toBe("[('a',)]")
  expect(
    tellOfficially(
      rows(
        [text, null],
        [
          { kind: 'integer', text: '5' },
          { kind: 'double', text: '2011' },
        ],
      ),
    ),
  ).toBe("[('a', None), (5, 2011.0)]")
  expect(
    tellOfficially(
      rows([
        { kind: 'decimal', text: '2.50' },
        { kind: 'date', text: '2020-01-05' },
      ]),
    ),
  ).toBe("[(Decimal('2.50'), datetime.date(2020, 1, 5))]")
  expect(tellOfficially(rows([{ kind: 'datetime', text: '2020-01-05 00:00:00' }]))).toBe(
    '[(datetime.datetime(2020, 1, 5, 0, 0),)]',
  )
  expect(tellOfficially(rows())).toBe('[]')
  expect(tellOfficially({ kind: 'done', affected: 3 })).toBe('[]')
})

test('a long result is cut at 800 characters', () => {
  const text = tellOfficially(rows([{ kind: 'text', text: 'x'.repeat(5000) }]))
  expect(text).toHaveLength(800 + '[TRUNCATED]'.length)
  expect(tellShortly(rows([{ kind: 'text', text: 'x'.repeat(5000) }])).length).toBeLessThan(1000)
})

test('a failure is reported with number, state and message', () => {
  const failure = { code: 1054, state: '42S22', message: "Unknown column 'x' in 'field list'" }
  expect(tellOfficially({ kind: 'failed', failure })).toBe("1054 (42S22): Unknown column 'x' in 'field list'")
  expect(tellShortly({ kind: 'failed', failure })).toBe("error: Unknown column 'x' in 'field list'")
})

// Output of CPython 3.12.
test.each([
  [1, '1.0'],
  [-0.5, '-0.5'],
  [0.1, '0.1'],
  [1e16, '1e+16'],
  [123456789012345680, '1.2345678901234568e+17'],
  [0.0001, '0.0001'],
  [0.00001234, '1.234e-05'],
  [1e100, '1e+100'],
  [1234567.891, '1234567.891'],
])('the float %d is shown as Python does', (value, shown) => {
  expect(reprOfFloat(value)).toBe(shown)
})

test.each([
  ['it', "'it'"],
  ["it's", '"it\'s"'],
  ['say "it\'s"', "'say \"it\\'s\"'"],
  ['a\\b\n', "'a\\\\b\\n'"],
  ['1–0', "'1–0'"],
  ['\u00a0\u0007\u200b', "'\\xa0\\x07\\u200b'"],
])('the text %j is shown as Python does', (text, shown) => {
  expect(reprOfText(text)).toBe(shown)
})
