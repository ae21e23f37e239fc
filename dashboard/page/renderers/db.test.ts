import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sqlParts } from './db.tsx'

// [SQL-1]
test('the parts of a statement joined are the statement', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(
        sqlParts(text)
          .map((part) => part.text)
          .join(''),
      ).toBe(text)
    }),
  )
})

test('words, texts, numbers and comments are distinguished', () => {
  const kinds = sqlParts("SELECT a FROM `t` WHERE b = 'x''y' AND c > 1.5 -- end")
    .filter(({ kind }) => kind !== 'other')
    .map(({ kind, text }) => `${kind} ${text}`)
  expect(kinds).toEqual([
    'keyword SELECT',
    'keyword FROM',
    'keyword WHERE',
    "text 'x''y'",
    'keyword AND',
    'number 1.5',
    'comment -- end',
  ])
})
