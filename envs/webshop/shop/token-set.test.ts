import fc from 'fast-check'
import { expect, test } from 'vitest'
import { colorAmong, colorOf } from './color.ts'
import { tokenSetRatio } from './token-set.ts'

// Expected ratios were computed by thefuzz 0.22.
test.each([
  ['rubber outsole', 'rubber sole', 88],
  ['machine washable', 'hand washable', 76],
  ['Blue,  blue RED', 'red blue', 100],
  ['large', "('size', 'x-large')", 100],
  ['dark_grey (pack', 'dark_gyy', 67],
  ['', 'red', 0],
  ['a b', 'c d', 33],
])('%j and %j have the ratio %d', (one, other, ratio) => {
  expect(tokenSetRatio(one, other)).toBe(ratio)
})

test('the ratio is a whole number from 0 to 100, the same whichever text comes first', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '-', 'é', '漢'), maxLength: 12 })
  fc.assert(
    fc.property(text, text, (one, other) => {
      const ratio = tokenSetRatio(one, other)
      expect(Number.isInteger(ratio) && ratio >= 0 && ratio <= 100).toBe(true)
      expect(tokenSetRatio(other, one)).toBe(ratio)
    }),
  )
})

test('a colour is the first of the list that a text holds; a text without one stays as it is', () => {
  expect(colorOf('navy blue')).toBe('blue')
  expect(colorOf('x-large')).toBe('x-large')
  expect(colorAmong(['color', 'pink'])).toBe('pink')
  expect(colorAmong(['color', 'pale pink'])).toBeUndefined()
})
