import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { timeMultiple } from '../../transformer/forward.ts'
import { type MicroBatch, microBatches, runTokens, sampledRows } from './micro-batch.ts'

/** Episodes as masks; the first token never counts. */
const masks = fc.array(
  fc
    .array(fc.constantFrom<0 | 1>(0, 1), { minLength: 1, maxLength: 40 })
    .map((mask) => [0, ...mask.slice(1)]),
  { minLength: 1, maxLength: 12 },
)

function batchOf(episodes: readonly (readonly number[])[]) {
  const lossMask = Uint8Array.from(episodes.flat())
  const offsets = Int32Array.from([0, ...episodes.map((mask) => mask.length)])
  for (let i = 1; i < offsets.length; i++) offsets[i]! += offsets[i - 1]!
  return { tokens: Int32Array.from(lossMask, (_, i) => i + 1), offsets, lossMask }
}

describe('microBatches', () => {
  test('every counted token is in exactly one micro-batch, behind the tokens of its own episode', () => {
    fc.assert(
      fc.property(masks, fc.integer({ min: 1, max: 200 }), (episodes, limit) => {
        const batch = batchOf(episodes)
        const seen: number[] = []
        for (const { time, batch: size, tokens, rows, targets, sources } of microBatches(batch, limit)) {
          expect(tokens.length).toBe(size * time)
          expect(time % timeMultiple).toBe(0)
          if (size > 1) expect(size * time).toBeLessThanOrEqual(limit)
          for (const [index, source] of sources.entries()) {
            seen.push(source)
            const row = Number(rows[index])
            expect(targets[index]).toBe(BigInt(batch.tokens[source] as number))
            const begin = batch.offsets.findLast((offset) => offset <= source) as number
            const start = row - (row % time)
            expect([...tokens.slice(start, row + 1)]).toEqual(
              [...batch.tokens.slice(begin, source)].map(BigInt),
            )
          }
        }
        const counted = [...batch.lossMask.keys()].filter((i) => batch.lossMask[i] === 1)
        expect(seen.sort((a, b) => a - b)).toEqual(counted)
      }),
    )
  })

  test('no other cuts of the sorted episodes cost less [LAYOUT-1]', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 16, max: 900 }), (given, limit) => {
        const batch = batchOf(given.map((length) => [...new Array<number>(length).fill(0), 1]))
        const cost = microBatches(batch, limit).reduce(
          (sum, { tokens }) => sum + tokens.length + runTokens,
          0,
        )
        const times = given
          .map((length) => Math.ceil(length / timeMultiple) * timeMultiple)
          .sort((a, b) => b - a)
        const cheapest = (rest: readonly number[]): number => {
          const [time = 0] = rest
          const costs = rest.map((_, at) =>
            at === 0 || (at + 1) * time <= limit
              ? (at + 1) * time + runTokens + cheapest(rest.slice(at + 1))
              : Number.POSITIVE_INFINITY,
          )
          return rest.length === 0 ? 0 : Math.min(...costs)
        }
        expect(cost).toBe(cheapest(times))
      }),
    )
  })

  test('what no counted token depends on is left out', () => {
    const batch = batchOf([
      [0, 0, 0],
      [0, 1, 0, 0],
    ])
    const [micro, ...others] = microBatches(batch, 64)
    expect(others).toEqual([])
    // Only the first token of the second episode is needed: it predicts the one that counts.
    expect(micro).toMatchObject({ batch: 1, time: timeMultiple, rows: BigInt64Array.of(0n) })
    expect([...(micro?.tokens ?? [])].filter((token) => token !== 0n)).toEqual([4n])
  })

  test('with observations, every token that a counted token depends on counts, except the first token', () => {
    const batch = batchOf([
      [0, 0, 0],
      [0, 0, 1, 0, 1, 0],
    ])
    const [micro] = microBatches(batch, 64, undefined, 'all')
    expect(micro?.sources).toEqual(Int32Array.of(4, 5, 6, 7))
  })

  test('what was read is counted where it is imitated', () => {
    const batch = { ...batchOf([[0, 0, 0, 1, 0, 1]]), imitation: Float32Array.of(0, 0, 0.5, 0, 0, 0) }
    expect(microBatches(batch, 64)[0]?.sources).toEqual(Int32Array.of(2, 3, 5))
  })

  test('an episode of which nothing was sampled is counted up to the last token that is imitated', () => {
    const batch = {
      ...batchOf([
        [0, 0, 0, 0],
        [0, 0, 0],
      ]),
      imitation: Float32Array.of(0, 0, 0.5, 0, 0, 0, 0),
    }
    const [micro, ...others] = microBatches(batch, 64)
    expect(others).toEqual([])
    expect(micro).toMatchObject({ batch: 1, sources: Int32Array.of(2) })
    expect(sampledRows(batch, micro as MicroBatch)).toEqual([])
  })

  test('a chosen part of the episodes gives a part of the tokens', () => {
    const batch = batchOf([
      [0, 1],
      [0, 1],
    ])
    expect(microBatches(batch, 64, [1])[0]?.sources).toEqual(Int32Array.of(3))
  })
})
