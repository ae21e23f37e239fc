import { expect, test } from 'vitest'
import { compareText, floatText, jsonText, strip, textLiteral } from './python-text.ts'

// Expected texts were printed by CPython 3.11 and Flask 3.1.
test.each([
  [1, '1.0'],
  [0, '0.0'],
  [0.8999999999999999, '0.8999999999999999'],
  [1847, '1847.0'],
  [0.00005, '5e-05'],
  [1.5e-7, '1.5e-07'],
  [1e16, '1e+16'],
])('repr of the float %d', (value, text) => expect(floatText(value)).toBe(text))

test.each([
  ["it's", '"it\'s"'],
  ['28" x 28"', '\'28" x 28"\''],
  ['a\'b"c', "'a\\'b\"c'"],
  ['é\u00a0\u200b\n\\', "'é\\xa0\\u200b\\n\\\\'"],
])('repr of the str %j', (text, literal) => expect(textLiteral(text)).toBe(literal))

test('str.strip takes the blanks that Python knows, and no others', () => {
  expect(strip('\u001c\u0085\u00a0 a b \u2028\t')).toBe('a b')
  expect(strip('\ufeffa\ufeff')).toBe('\ufeffa\ufeff')
  expect(strip(' \n ')).toBe('')
})

test('tojson sorts names, and escapes what is no ASCII or means something in HTML', () => {
  const values = new Map([
    ['size', "it's <b>"],
    ['Color', 'é & 😀\n'],
  ])
  expect(jsonText(values)).toBe(
    '{"Color": "\\u00e9 \\u0026 \\ud83d\\ude00\\n", "size": "it\\u0027s \\u003cb\\u003e"}',
  )
  expect(jsonText(new Map())).toBe('{}')
})

test('texts are ordered by code points', () => {
  expect(['😀', '\uffff', 'b', 'a', 'ab'].sort(compareText)).toEqual(['a', 'ab', 'b', '\uffff', '😀'])
})
