import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FilterTerm, filterText, numberFields, parseFilter, relations } from './episode-filter.ts'

function termsOf(text: string): readonly FilterTerm[] {
  const read = parseFilter(text)
  if ('fault' in read) throw new Error(read.fault.message)
  return read.terms
}

test('a filter is conditions and texts, all of which must hold', () => {
  expect(termsOf('task:alfworld,kg reward<1 turns>=5 -outcome:completed "soapbar 1" shelf')).toEqual([
    { kind: 'text', field: 'task', values: ['alfworld', 'kg'], negated: false },
    { kind: 'number', field: 'reward', relation: '<', value: 1, negated: false },
    { kind: 'number', field: 'turns', relation: '>=', value: 5, negated: false },
    { kind: 'text', field: 'outcome', values: ['completed'], negated: true },
    { kind: 'search', text: 'soapbar 1', whole: true, negated: false },
    { kind: 'search', text: 'shelf', whole: false, negated: false },
  ])
})

test('values with spaces and commas are quoted, and a field that is unknown is a text to search for', () => {
  expect(termsOf('instance:"a b,c",d http://x')).toEqual([
    { kind: 'text', field: 'instance', values: ['a b,c', 'd'], negated: false },
    { kind: 'search', text: 'http://x', whole: false, negated: false },
  ])
})

// [FILTER-1]
test.each([
  ['outcome:won', 0, 11, /outcome:won is unknown; there are completed, /],
  ['task:kg reward<much', 8, 19, /reward is a number/],
  ['task<3', 0, 6, /task is a text/],
  ['is:', 0, 3, /is needs a value/],
])('%s is named with its place', (text, begin, end, message) => {
  expect(parseFilter(text)).toEqual({ fault: { begin, end, message: expect.stringMatching(message) } })
})

// [FILTER-1]
test('every text is read, and nothing throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      expect(parseFilter(text)).toBeDefined()
    }),
  )
})

// [FILTER-2]
test('what a filter is written as reads as the same filter', () => {
  const word = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .map((text) => text.replaceAll('"', '').trim())
    .filter((text) => text !== '')
  const term = fc.oneof(
    fc.record({
      kind: fc.constant('text' as const),
      field: fc.constantFrom('run' as const, 'task' as const, 'instance' as const),
      values: fc.array(word, { minLength: 1, maxLength: 3 }),
      negated: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('number' as const),
      field: fc.constantFrom(...numberFields),
      relation: fc.constantFrom(...relations),
      value: fc.integer({ min: -1000, max: 1000 }),
      negated: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('search' as const),
      text: word,
      whole: fc.constant(true),
      negated: fc.boolean(),
    }),
  )
  fc.assert(
    fc.property(fc.array(term, { maxLength: 6 }), (terms) => {
      expect(termsOf(filterText(terms))).toEqual(terms)
    }),
  )
})
