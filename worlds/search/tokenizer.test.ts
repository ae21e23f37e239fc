import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eachWord } from './tokenizer.ts'
import { breakClassOf } from './word-break.ts'

function wordsOf(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => words.push(word))
  return words
}

// Output of Lucene 8's StandardTokenizer for these texts.
describe('words are cut as Lucene cuts them', () => {
  test.each([
    ["women's 3.5mm wi-fi_x", ["women's", '3.5mm', 'wi', 'fi_x']],
    ['a.b a:b a,b 1,000.5 1:2 _a_ __', ['a.b', 'a:b', 'a', 'b', '1,000.5', '1', '2', '_a_']],
    ['漢字かなカナ 한글ok', ['漢', '字', 'か', 'な', 'カナ', '한글ok']],
    ['ภาษาไทย', ['ภาษาไทย']],
    ['★★ ✔\ufe0f ©2020 #\u20e3 3\u20e3', ['★', '★', '✔\ufe0f', '©', '2020', '#\u20e3', '3\u20e3']],
    ['👍🏽 ❤🏽 👩\u200d👩 🇩🇪🇫 🇩', ['👍🏽', '❤', '🏽', '👩\u200d👩', '🇩🇪']],
    ['א"ב א\'', ['א"ב', "א'"]],
    ['e\u0301a \u0301', ['e\u0301a']],
  ])('%s', (text, words) => expect(wordsOf(text)).toEqual(words))
})

test('words come in order, never overlap and are never empty or longer than 255 units', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
      let at = 0
      for (const word of wordsOf(text)) {
        expect(word.length).toBeGreaterThan(0)
        expect(word.length).toBeLessThanOrEqual(255)
        at = text.indexOf(word, at) + word.length
        expect(at).toBeGreaterThanOrEqual(word.length)
      }
    }),
    { numRuns: 40 },
  )
  expect(wordsOf('x'.repeat(600)).map(({ length }) => length)).toEqual([255, 255, 90])
})

test('time grows with the length of the text: a megabyte of anything is cut in a moment', () => {
  for (const unit of ['a', '[', '_', "a'", '\u0301', '1,', '\ud800', '👩\u200d'])
    expect(wordsOf(unit.repeat(100_000)).length).toBeLessThanOrEqual(200_000)
  // A word of 255 units ends in the letter, however many connectors are before it.
  expect(wordsOf(`${'_'.repeat(100_000)}a`)).toEqual([`${'_'.repeat(254)}a`])
})

test('the class of a character never depends on its neighbours', () => {
  const first = breakClassOf(0x1f600)
  breakClassOf(0x61)
  expect(breakClassOf(0x1f600)).toBe(first)
})
