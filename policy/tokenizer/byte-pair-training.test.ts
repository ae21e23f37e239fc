import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { spellBytes } from './byte-alphabet.ts'
import { trainTokenizer } from './byte-pair-training.ts'
import { preTokenizerSchema, splitterOf } from './pre-tokenization.ts'

const noAdded = { addedTokens: [] }

function mergesOf(texts: readonly string[], vocabularySize: number): [string, string][] {
  return JSON.parse(trainTokenizer(texts, { vocabularySize, ...noAdded })).model.merges
}

/** The definition, which counts again for every merge. */
function mergesByDefinition(texts: readonly string[], count: number): [string, string][] {
  const { pre_tokenizer } = JSON.parse(trainTokenizer([], { vocabularySize: 256, ...noAdded }))
  const split = splitterOf(preTokenizerSchema.parse(pre_tokenizer))
  const words = texts.flatMap(split).map((piece) => [...spellBytes(piece)])
  const { vocab } = JSON.parse(trainTokenizer([], { vocabularySize: 256, ...noAdded })).model
  const ids = new Map<string, number>(Object.entries(vocab))
  const merges: [string, string][] = []
  while (ids.size < 256 + count) {
    const pairs = new Map<string, { pair: [string, string]; count: number }>()
    for (const word of words)
      for (let i = 0; i + 1 < word.length; i++) {
        const pair: [string, string] = [word[i] as string, word[i + 1] as string]
        const seen = pairs.get(pair.join(' ')) ?? { pair, count: 0 }
        pairs.set(pair.join(' '), { pair, count: seen.count + 1 })
      }
    const id = (token: string) => ids.get(token) as number
    const [best] = [...pairs.values()].sort(
      (a, b) => b.count - a.count || id(a.pair[0]) - id(b.pair[0]) || id(a.pair[1]) - id(b.pair[1]),
    )
    if (best === undefined || best.count < 2) break
    const [left, right] = best.pair
    merges.push([left, right])
    if (!ids.has(left + right)) ids.set(left + right, ids.size)
    for (const word of words)
      for (let i = 0; i + 1 < word.length; i++)
        if (word[i] === left && word[i + 1] === right) word.splice(i, 2, left + right)
  }
  return merges
}

describe('trainTokenizer', () => {
  // [PAIR-TRAINING-1]
  test('learns no token of more than 64 bytes, whatever repeats in the text', () => {
    const { model } = JSON.parse(
      trainTokenizer(['x'.repeat(100_000), '-='.repeat(50_000)], { vocabularySize: 400, ...noAdded }),
    )
    const lengths = Object.keys(model.vocab).map((token) => token.length)
    expect(Math.max(...lengths)).toBe(64)
  })

  test('takes merges by count, ties by the lower ids', () => {
    // "ab" is there 3 times, then "abc" twice; " ab" and "bc" are behind, "d" is alone.
    expect(mergesOf(['abc abc ab d'], 300)).toEqual([
      ['a', 'b'],
      ['Ġ', 'ab'],
    ])
    expect(mergesOf(['abc', 'abc', 'ab', 'd'], 300)).toEqual([
      ['a', 'b'],
      ['ab', 'c'],
    ])
  })

  test('gives the merges of the definition', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', 'é', '1'), maxLength: 30 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), (texts) => {
        expect(mergesOf(texts, 256 + 12)).toEqual(mergesByDefinition(texts, 12))
      }),
      { numRuns: 60 },
    )
  })

  test('the same texts give the same bytes', () => {
    const texts = ['You open the drawer 1.', 'The drawer 1 is open.', '😀 \ud800']
    const settings = { vocabularySize: 300, addedTokens: [{ content: '<end>', special: true }] }
    expect(trainTokenizer(texts, settings)).toBe(trainTokenizer(texts, settings))
  })

  test('added tokens have the last ids, take no part in merges, and count as vocabulary', () => {
    const { model, added_tokens } = JSON.parse(
      trainTokenizer(['<end><end><end> aaaa aaaa'], {
        vocabularySize: 258,
        addedTokens: [{ content: '<end>', special: true }],
      }),
    )
    expect(model.merges).toEqual([['a', 'a']])
    expect(Object.keys(model.vocab)).toHaveLength(257)
    expect(added_tokens).toMatchObject([{ id: 257, content: '<end>', special: true }])
  })

  test('text that offers no more pairs ends the vocabulary early', () => {
    expect(
      Object.keys(JSON.parse(trainTokenizer(['abc'], { vocabularySize: 500, ...noAdded })).model.vocab),
    ).toHaveLength(256)
  })

  test('a vocabulary without room for the bytes is refused', () => {
    expect(() => trainTokenizer([], { vocabularySize: 255, ...noAdded })).toThrow('has no room for 256 bytes')
  })
})
