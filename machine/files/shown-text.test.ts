import { expect, test } from 'vitest'
import { jsonLine, shownLine, shownText } from './shown-text.ts'

const everyUnit = Array.from({ length: 0x3000 }, (_, unit) => String.fromCharCode(unit)).join('')

// [SHOWN-TEXT-1]
test('of all characters only line feeds and tabs are left of those that a terminal obeys', () => {
  const shown = shownText(everyUnit)
  expect(shown).toHaveLength(everyUnit.length)
  expect(shown.match(/\p{Cc}|\p{Bidi_Control}/gu)).toEqual(['\t', '\n'])
  expect(shownText('clear \u001b[2J, title \u001b]0;x\u0007, C1 \u009b1m, over \u202eword\r')).toBe(
    'clear ␛[2J, title ␛]0;x␇, C1 \ufffd1m, over \ufffdword␍',
  )
  expect(shownText('café 🫖 שלום\r\n\tnext')).toBe('café 🫖 שלום\n\tnext')
  expect(shownLine('a\n\tb')).toBe('a b')
})

// [SHOWN-TEXT-2]
test('JSON escapes them, holds no separator of lines, and parses to the same value', () => {
  const value = { [everyUnit]: everyUnit }
  const line = jsonLine(value)
  expect(line.match(/\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/gu)).toBeNull()
  expect(JSON.parse(line)).toEqual(value)
})
