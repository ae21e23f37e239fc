import { expect, test } from 'vitest'
import { extensions, nouns, people, words } from './words.ts'

test.each([
  ['nouns', nouns],
  ['words', words],
  ['people', people],
  ['extensions', extensions],
])('no list has a word twice, and a word is lower-case letters alone: %s', (_, list) => {
  expect(new Set(list).size).toBe(list.length)
  for (const word of list) expect(word).toMatch(/^[a-z]+$/)
})
