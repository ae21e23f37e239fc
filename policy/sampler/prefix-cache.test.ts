import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commonPrefix, PrefixCache } from './prefix-cache.ts'

const floatsPerPosition = 2
/** Bytes of one context of up to 128 tokens. */
const contextBytes = 128 * floatsPerPosition * 4

function cacheOf(contexts: number): PrefixCache {
  return new PrefixCache({ floatsPerPosition, budgetBytes: contexts * contextBytes })
}

describe('the prefix cache', () => {
  it('finds the longest prefix that the key itself holds under the version, always short of the last token', () => {
    const token = fc.integer({ min: 0, max: 1 })
    const context = fc.array(token, { minLength: 1, maxLength: 9 })
    const stored = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      version: fc.integer({ min: 0, max: 1 }),
      tokens: context,
    })
    fc.assert(
      fc.property(fc.array(stored, { maxLength: 12 }), context, (history, asked) => {
        const cache = cacheOf(50)
        let own = new Int32Array()
        for (const { key, version, tokens } of history) {
          cache.store(key, version, Int32Array.from(tokens), tokens.length)
          if (key === 'a' && version === 1) own = Int32Array.from(tokens)
        }
        const wanted = Int32Array.from(asked)
        const expected = Math.min(wanted.length - 1, commonPrefix(own, own.length, wanted))
        const found = cache.find('a', 1, wanted)
        expect(found?.length ?? 0).toBe(expected)
        if (found !== undefined) {
          expect(found.entry).toMatchObject({ key: 'a', version: 1 })
          expect([...found.entry.tokens.subarray(0, found.length)]).toEqual(asked.slice(0, found.length))
        }
      }),
    )
  })

  it('asks only for what an entry does not hold yet', () => {
    const cache = cacheOf(4)
    expect(cache.store('a', 0, Int32Array.of(1, 2, 3), 3)?.from).toBe(0)
    expect(cache.store('a', 0, Int32Array.of(1, 2, 3, 4, 5), 5)?.from).toBe(3)
    expect(cache.store('a', 0, Int32Array.of(1, 2, 9), 3)?.from).toBe(2)
    const grown = new Int32Array(130).fill(1)
    expect(cache.store('a', 0, grown, 130)).toMatchObject({ from: 0, entry: { capacity: 256 } })
  })

  it('stays below its budget, forgetting what was used least recently', () => {
    const cache = cacheOf(3)
    for (const key of ['a', 'b', 'c']) cache.store(key, 0, Int32Array.of(key.charCodeAt(0), 1), 2)
    cache.find('a', 0, Int32Array.of('a'.charCodeAt(0), 1, 2))
    cache.store('d', 0, Int32Array.of(7, 7), 2)
    expect(cache.bytes).toBeLessThanOrEqual(3 * contextBytes)
    expect(cache.find('b', 0, Int32Array.of('b'.charCodeAt(0), 1, 2))).toBeUndefined()
    expect(cache.find('a', 0, Int32Array.of('a'.charCodeAt(0), 1, 2))?.length).toBe(2)
    expect(cache.store('huge', 0, new Int32Array(600), 600)).toBeUndefined()
    expect(cache.size).toBe(3)
    cache.store('two', 0, new Int32Array(200), 200)
    expect(cache.bytes).toBeLessThanOrEqual(3 * contextBytes)
    expect(cache.find('two', 0, new Int32Array(201))?.length).toBe(200)
  })

  it('forgets a key in all versions, a version in all keys', () => {
    const cache = cacheOf(8)
    for (const key of ['a', 'b'])
      for (const version of [0, 1]) cache.store(key, version, Int32Array.of(1, 2), 2)
    cache.release('a')
    expect(cache.size).toBe(2)
    cache.unload(1)
    expect(cache.size).toBe(1)
    expect(cache.find('b', 1, Int32Array.of(1, 2, 3))).toBeUndefined()
    expect(cache.find('b', 0, Int32Array.of(1, 2, 3))?.length).toBe(2)
  })
})
