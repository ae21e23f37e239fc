import { expect, test } from 'vitest'
import { GrowingList } from './growing.ts'
import { byteToLength, lengthToByte, TextIndexBuilder } from './text-index.ts'

function indexOf(...texts: string[]): ReturnType<TextIndexBuilder['finish']> {
  const builder = new TextIndexBuilder()
  for (const [at, text] of texts.entries()) builder.add(`D${texts.length - at}`, text)
  return builder.finish()
}

test('a score is that of BM25 with k1 0.9 and b 0.4', () => {
  // Lengths 2 and 4, average 3; "hat" is in one of two documents, twice.
  const [hit] = indexOf('red shoe', 'hat hat big green').search('hat', 10)
  const idf = Math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
  const norm = 0.9 * (1 - 0.4 + (0.4 * 4) / 3)
  expect(hit?.document).toBe(1)
  expect(hit?.score).toBeCloseTo((idf * 2) / (2 + norm), 6)
})

test('a term counts as often as it is in the query', () => {
  const index = indexOf('red shoe', 'green hat')
  const once = index.search('hat', 1)[0]?.score ?? 0
  expect(index.search('hat hats', 1)[0]?.score).toBeCloseTo(2 * once, 6)
})

test('scores fall along a ranking, equal ones are in the order of names, and a limit keeps the best', () => {
  const index = indexOf('hat', 'hat', 'hat hat', 'shoe', 'hat')
  const hits = index.search('hat', 10)
  expect(hits.map(({ document }) => document)).toEqual([2, 4, 1, 0])
  expect(index.search('hat', 2)).toEqual(hits.slice(0, 2))
})

test('documents that share no term with the query are not found, nor is anything by stop words', () => {
  const index = indexOf('hat', '')
  for (const query of ['shoe', '', 'the', '  ', '\u0000']) expect(index.search(query, 5)).toEqual([])
  expect(indexOf().search('hat', 5)).toEqual([])
})

test('a search leaves nothing behind for the next', () => {
  const index = indexOf('red hat', 'blue hat')
  const before = index.search('blue', 5)
  index.search('red hat', 5)
  expect(index.search('blue', 5)).toEqual(before)
})

test('what was added to a growing list is read back in order', () => {
  const list = new GrowingList((length) => new Uint32Array(length))
  for (let value = 0; value < 5000; value++) list.push(value)
  expect([...list.view()]).toEqual(Array.from({ length: 5000 }, (_, value) => value))
})

test('up to 40 a length comes back exactly; beyond, four leading bits are kept, rounded down', () => {
  for (let length = 0; length <= 40; length++) expect(byteToLength(lengthToByte(length))).toBe(length)
  // 24 stay as they are; of the rest, 24 + 1000 = 0b1111101000 keeps 0b1111 and six zeros: 960.
  expect(byteToLength(lengthToByte(24 + 1000))).toBe(24 + 960)
})

test('a greater length never has a smaller byte, and every length has one', () => {
  let before = 0
  for (let length = 0; length < 5000; length++) {
    const byte = lengthToByte(length)
    expect(byte).toBeGreaterThanOrEqual(before)
    before = byte
  }
  expect(lengthToByte(2 ** 31 - 1)).toBe(255)
})
