import { expect, it } from 'vitest'
import { countLines, countsOf } from './counts.ts'

// [COUNTS-1]
it('a line is of the product or of a test, and the engines of worlds/ are counted apart too', () => {
  const code = new Map([
    ['learning/a.ts', 'one\n\n// three\n'],
    ['learning/a.test.ts', 'one\n'],
    ['learning/a.testing.ts', 'one\ntwo\n'],
    ['test/support/b.ts', 'one\n'],
    ['worlds/mysql/c.ts', 'one\ntwo\n'],
  ])
  const counts = countsOf(code, 7)
  expect(counts).toEqual({
    'lines outside tests': 5,
    'lines outside tests and worlds/': 3,
    'files outside tests': 2,
    'lines of tests': 4,
    settings: 7,
  })
  expect(countLines(counts).slice(-2)).toEqual([
    '      4 lines of tests (aim: at most 44000)',
    '      7 settings',
  ])
})
