import fc from 'fast-check'
import { expect, it } from 'vitest'
import { areSpansOf, tokenVersions } from '../../learning/run/version-spans.ts'
import { checkedPart } from './checked-answer.ts'
import { SampledSpans } from './sampled-spans.ts'
import type { Answer, Ask } from './server-protocol.ts'

const ask: Ask = {
  ...{ id: 'turn', context: Int32Array.of(1, 2, 3), maxNewTokens: 8, temperature: 1, stopTokens: [7] },
  ...{ seed: 11, alternatives: 0 },
}

/** The answer to what is asked: each token is the length of the context before it, and −1 less likely. */
function answered(of: Ask, tokens: number, change: Partial<Answer> = {}): Answer {
  const places = Array.from({ length: tokens }, (_, at) => of.context.length + at)
  const logprobs = places.map((place) => -place / 10)
  return {
    tokens: places,
    logprobs,
    promptTokens: of.context.length,
    cachedTokens: 0,
    alternatives: [],
    ...change,
  }
}

/** Parts of an action: how many tokens each has, and by how much its version is newer than the one before. */
const parts = fc.array(fc.record({ tokens: fc.nat(9), newer: fc.nat(2) }), { maxLength: 6 })

// [SPANS-1]
it('an action that is cut anywhere has the tokens of one that is not, and each token the version of its part', () => {
  fc.assert(
    fc.property(parts, fc.constantFrom(7, 50), (cuts, stop) => {
      const asked = { ...ask, stopTokens: [stop] }
      const spans = new SampledSpans(asked)
      const expected: number[] = []
      const limit = stop === 7 ? 5 : 8 // tokens 3 to 7, or 3 to 10
      let version = 0
      for (const { tokens, newer } of [...cuts, { tokens: 9, newer: 1 }]) {
        if (spans.whole() !== undefined) break
        version += newer
        const rest = spans.rest()
        expect(rest.context.length + rest.maxNewTokens).toBe(11)
        const given = Math.min(tokens, rest.maxNewTokens)
        const answer = answered(rest, given, { isCut: given < rest.maxNewTokens })
        spans.add(checkedPart(answer, { ask: rest, vocabulary: 64, name: 'it' }), version)
        for (let token = 0; token < given && expected.length < limit; token++) expected.push(version)
      }
      const whole = spans.whole()
      expect([...(whole?.tokens ?? [])]).toEqual(Array.from({ length: limit }, (_, at) => 3 + at))
      expect([...(whole?.logprobs ?? [])]).toEqual([
        ...Float32Array.from(whole?.tokens ?? [], (token) => -token / 10),
      ])
      expect(whole?.finish).toBe(stop === 7 ? 'stop' : 'length')
      if (whole === undefined) return
      expect([...tokenVersions(whole)]).toEqual(expected)
      if (whole.spans !== undefined) expect(areSpansOf(whole, whole.spans)).toBe(true)
      expect(whole.spans === undefined).toBe(new Set(expected).size === 1)
    }),
  )
})

// [SPANS-2]
it('the rest of an action is drawn with another seed at every place, the same each time', () => {
  const drawn = () =>
    Array.from({ length: 8 }, (_, tokens) => {
      const spans = new SampledSpans(ask)
      const part = { tokens: new Int32Array(tokens).fill(5), logprobs: new Float32Array(tokens) }
      spans.add({ ...part, end: 'cut' }, 0)
      return spans.rest().seed
    })
  const seeds = drawn()
  expect(seeds[0]).toBe(ask.seed)
  expect(new Set(seeds).size).toBe(8)
  expect(drawn()).toEqual(seeds)
})

// [ANSWER-3]
it('of an answer only the tokens count that the asked weights sampled, up to the first of others', () => {
  const own = { ...ask, weights: 'demo@1-aa', stopTokens: [] }
  const spans = fc.array(
    fc.record({ name: fc.constantFrom('demo@1-aa', 'demo@2-bb', 'demo@2-bb?'), tokens: fc.nat(4) }),
  )
  fc.assert(
    fc.property(spans, fc.boolean(), (weights, isCut) => {
      const total = weights.reduce((sum, { tokens }) => sum + tokens, 0)
      fc.pre(total <= 8 && (isCut || total === 8))
      const names = weights.flatMap(({ name, tokens }) => Array.from({ length: tokens }, () => name))
      const other = names.findIndex((name) => name !== own.weights)
      const kept = other < 0 ? total : other
      const part = checkedPart(answered(own, total, { isCut, weights }), {
        ask: own,
        vocabulary: 64,
        name: 'it',
      })
      expect(part.tokens.length).toBe(kept)
      expect(part.end).toBe(kept === 8 ? 'length' : 'cut')
    }),
  )
})

it('an answer that does not say of each token which weights sampled it is refused', () => {
  const own = { ...ask, weights: 'demo@1-aa' }
  for (const weights of [undefined, [], [{ name: 'demo@1-aa', tokens: 7 }]])
    expect(() =>
      checkedPart(answered(own, 8, { weights }), { ask: own, vocabulary: 64, name: 'it' }),
    ).toThrow('did not say which weights')
})
