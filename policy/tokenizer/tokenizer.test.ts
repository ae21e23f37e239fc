import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { spellBytes } from './byte-alphabet.ts'
import { trainTokenizer } from './byte-pair-training.ts'
import { HuggingFaceTokenizer } from './pre-tokenization.ts'
import { Tokenizer } from './tokenizer.ts'

const controls = ['<|im_start|>', '<|im_end|>', '<|im_end|><|x|>', '<tool_call>']
const json = trainTokenizer(
  ['You arrive at loc 12. On the countertop 1, you see a apple 2, a bread 1.\n', 'You open the drawer 12.'],
  { vocabularySize: 320, addedTokens: controls.map((content) => ({ content, special: true })) },
)
const tokenizer = Tokenizer.parse(json)

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      ...controls,
      '<|im',
      '_end|>',
      ' ',
      '\n',
      'drawer',
      '12',
      '٣',
      '½',
      '😀',
      '\0',
      '\u0085',
      '\ufeff',
    ),
  }),
  // Any UTF-16 units, so halves of surrogate pairs too.
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
)

/** A tokenizer.json over the bytes alone, with another pre-tokenizer. */
function withPreTokenizer(pre_tokenizer: object): string {
  return JSON.stringify({ ...JSON.parse(json), pre_tokenizer })
}

describe('Tokenizer', () => {
  // [TOKENIZER-1]
  test('within a limit a text has the tokens that it has without one, and beyond it none', () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), fc.integer({ min: -1, max: 12 }), (text, trusted, most) => {
        const all = tokenizer.encodeParts([{ text, trusted }])
        const expected = all.length <= most ? all : undefined
        expect(tokenizer.encodeWithin([{ text, trusted }], most)).toEqual(expected)
      }),
    )
  })

  // [TOKENIZER-1] At some microseconds a byte, tokenizing these would take minutes each.
  test.each(['a', 'ab ', '\u00e9', '<|im_start'])('a hundred megabytes of %j are refused at once', (unit) => {
    const text = unit.repeat(100_000_000 / unit.length)
    expect(tokenizer.encodeWithin([{ text, trusted: false }], 1024)).toBeUndefined()
  })

  test('decode(encode(x)) is x for any text, lone surrogates as U+FFFD', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text.toWellFormed())
        expect(tokenizer.decode(tokenizer.encodePlain(text))).toBe(text.toWellFormed())
      }),
      { numRuns: 500 },
    )
  })

  test('decoding token by token gives the same text as decoding at once', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 })), (tokens) => {
        const stream = tokenizer.streamDecoder()
        const parts = tokens.map((token) => stream.push(token))
        expect(parts.join('') + stream.end()).toBe(tokenizer.decode(tokens))
      }),
    )
  })

  test('half a character waits for its rest', () => {
    const stream = tokenizer.streamDecoder()
    const tokens = [...tokenizer.encode('😀')]
    expect(tokens.length).toBeGreaterThan(1)
    expect(tokens.map((token) => stream.push(token)).join('')).toBe('😀')
    stream.push(tokens[0] as number)
    expect(stream.end()).toBe('\ufffd')
  })

  test('added tokens are atomic, the longest first', () => {
    for (const content of controls)
      expect([...tokenizer.encode(`a${content}b`)]).toEqual([
        ...tokenizer.encode('a'),
        tokenizer.addedToken(content),
        ...tokenizer.encode('b'),
      ])
  })

  test('text from outside never becomes an added token', () => {
    const ids = new Set(controls.map((content) => tokenizer.addedToken(content)))
    fc.assert(
      fc.property(anyText, anyText, (before, after) => {
        for (const token of tokenizer.encodePlain(before)) expect(ids.has(token)).toBe(false)
        const mixed = tokenizer.encodeParts([
          { text: before, trusted: false },
          { text: '<|im_end|>', trusted: true },
          { text: after, trusted: false },
        ])
        expect([...mixed].filter((token) => ids.has(token))).toEqual([tokenizer.addedToken('<|im_end|>')])
      }),
    )
  })

  test('a control token cannot be pieced together from trusted and outside text', () => {
    const tokens = tokenizer.encodeParts([
      { text: '<|im_', trusted: true },
      { text: 'end|>', trusted: false },
    ])
    expect([...tokens]).not.toContain(tokenizer.addedToken('<|im_end|>'))
    expect(tokens).toEqual(tokenizer.encodePlain('<|im_end|>'))
  })

  test('agrees with the package where the package agrees with the reference', () => {
    const byPackage = new HuggingFaceTokenizer(JSON.parse(json), {})
    fc.assert(
      fc.property(anyText, (text) => {
        const { ids } = byPackage.encode(text.toWellFormed(), { add_special_tokens: false })
        expect([...tokenizer.encode(text)]).toEqual(ids)
      }),
    )
  })

  test('a warm cache changes nothing', () => {
    const text = 'You open the drawer 12. 😀'
    const cold = Tokenizer.parse(json).encode(text)
    tokenizer.encode(text)
    expect(tokenizer.encode(text)).toEqual(cold)
  })

  test('digits of any script are digits, as in the reference', () => {
    const digits = Tokenizer.parse(
      withPreTokenizer({
        type: 'Sequence',
        pretokenizers: [
          { type: 'Digits', individual_digits: true },
          { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
        ],
      }),
    )
    expect(digits.decode(digits.encode('a٣½12'))).toBe('a٣½12')
    expect(digits.encode('12')).toHaveLength(2)
  })

  test('ids beyond the vocabulary read as U+FFFD', () => {
    expect(tokenizer.decode([tokenizer.vocabularySize, -1, 1e9])).toBe('\ufffd\ufffd\ufffd')
  })

  test('bytes that no token can spell are reported', () => {
    const parsed = JSON.parse(json)
    delete parsed.model.vocab[spellBytes('!')]
    expect(Tokenizer.parse(JSON.stringify(parsed)).missingBytes).toEqual([0x21])
    expect(tokenizer.missingBytes).toEqual([])
  })

  test.each<[string, (parsed: ReturnType<typeof JSON.parse>) => void, string]>([
    ['another model', (p) => (p.model.type = 'Unigram'), 'model.type'],
    ['another decoder', (p) => (p.decoder.type = 'Metaspace'), 'decoder.type'],
    ['another pre-tokenizer', (p) => (p.pre_tokenizer = { type: 'Metaspace' }), 'pre_tokenizer'],
    ['added tokens that eat blanks', (p) => (p.added_tokens[0].lstrip = true), 'added_tokens.0.lstrip'],
    ['an id that is none', (p) => (p.model.vocab.a = 1.5), 'token "a" has id 1.5'],
    ['an id beyond reason', (p) => (p.model.vocab.a = 2 ** 31), 'token "a" has id 2147483648'],
  ])('a file with %s is refused by name', (_, change, message) => {
    const parsed = JSON.parse(json)
    change(parsed)
    const parse = () => Tokenizer.parse(JSON.stringify(parsed), 'x/tokenizer.json')
    expect(parse).toThrow(CheckpointFault)
    expect(parse).toThrow(message)
    expect(parse).toThrow('x/tokenizer.json')
  })

  test('text that is no JSON is refused', () => {
    expect(() => Tokenizer.parse('{', 'tokenizer.json')).toThrow('tokenizer.json: not JSON')
  })
})
