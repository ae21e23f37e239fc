import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beginningOf, visible } from './visible.ts'

// [VISIBLE-1]
test('what cannot be seen becomes a sign, and nothing else changes', () => {
  expect(visible('a\u202eb\u200bc\u001b[31m\u0000')).toBe('a⟨U+202E⟩b⟨U+200B⟩c␛[31m␀')
  expect(visible('two\nlines\tand <script>é𝄞</script>')).toBe('two\nlines\tand <script>é𝄞</script>')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(visible(visible(text))).toBe(visible(text))
    }),
  )
})

// [VISIBLE-2]
test('the beginning of a text is a short beginning of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), (text) => {
      const start = beginningOf(text)
      expect(text.startsWith(start)).toBe(true)
      expect(start.length).toBeLessThanOrEqual(1900)
    }),
  )
  expect(beginningOf('x'.repeat(1_000_000))).toHaveLength(1600)
  expect(beginningOf('line of some length\n'.repeat(40)).split('\n')).toHaveLength(14)
})

test('a text that is a little longer is not folded', () => {
  expect(beginningOf('x'.repeat(1700))).toHaveLength(1700)
})
