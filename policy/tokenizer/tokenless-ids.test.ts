import { expect, test } from 'vitest'
import { idsIn, isIn, tokenlessIds } from './tokenless-ids.ts'

// [TOKENLESS-1]
test('ids beyond the tokenizer, and holes within it, have no token', () => {
  const tokenizer = JSON.stringify({
    added_tokens: [{ id: 6, content: '<|end|>' }],
    model: { type: 'BPE', vocab: { a: 0, b: 1, c: 4 }, merges: [] },
  })
  const ranges = tokenlessIds(tokenizer, 10)
  expect(ranges).toEqual([
    [2, 4],
    [5, 6],
    [7, 10],
  ])
  expect(idsIn(ranges)).toEqual([2, 3, 5, 7, 8, 9])
  expect([0, 2, 3, 6, 9].map((id) => isIn(ranges, id))).toEqual([false, true, true, false, true])
})

test('a vocabulary as large as its tokenizer, or smaller, has none', () => {
  const tokenizer = '{"model": {"vocab": {"a": 0, "b": 1, "c": 2}}}'
  expect(tokenlessIds(tokenizer, 3)).toEqual([])
  expect(tokenlessIds(tokenizer, 2)).toEqual([])
})

test('a list of tokens names the ids of its places', () => {
  expect(tokenlessIds('{"model": {"vocab": [["a", -1], ["b", -2]]}}', 3)).toEqual([[2, 3]])
})

test('a text that lists no vocabulary says nothing of ids', () => {
  for (const text of [
    '{}',
    'no JSON',
    '{"model": {}}',
    '{"model": {"vocab": {}}}',
    '{"model": {"vocab": {"a": -1}}}',
  ])
    expect(tokenlessIds(text, 4), text).toEqual([])
})
