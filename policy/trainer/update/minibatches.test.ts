import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { UpdateBatch } from '../batch.ts'
import { divided } from './minibatches.ts'

/** Episodes of such lengths, their first token uncounted; those of one token have none that counts. */
function batchOf(lengths: readonly number[]): UpdateBatch {
  const offsets = Int32Array.from([
    0,
    ...lengths.map((_, i) => lengths.slice(0, i + 1).reduce((a, b) => a + b)),
  ])
  const n = offsets.at(-1) ?? 0
  const lossMask = new Uint8Array(n).fill(1)
  for (const offset of offsets) if (offset < n) lossMask[offset] = 0
  const counted = lossMask.reduce((sum, counts) => sum + counts, 0)
  return {
    offsets,
    lossMask,
    tokens: Int32Array.from({ length: n }, (_, i) => i),
    behaviourLogprobs: Float32Array.from(lossMask, (counts, i) => -counts * i),
    versions: Int32Array.from(lossMask, (counts) => (counts === 1 ? 3 : -1)),
    advantages: Float32Array.from(lossMask, (counts, i) => counts * (i % 3)),
    weights: Float32Array.from(lossMask, (counts) => counts / counted),
    stale: Uint8Array.from(lossMask, (counts, i) => counts * (i % 2)),
  }
}

it('imitation keeps its proportion to the policy loss, and minibatches count what the whole does', () => {
  const batch = { ...batchOf([3, 3]), imitation: Float32Array.from([0, 0.5, 0.5, 0, 0, 0]) }
  const [pass = []] = divided(batch, { minibatches: 2, passes: 1, seed: 1 })
  // Weights of 1/4 a token, two tokens an episode. The first counts 0.5 + 1, the second 0.5, the whole 2: factors 4/3 and 4.
  const first = pass.find(({ tokens }) => tokens[0] === 0)
  const second = pass.find(({ tokens }) => tokens[0] === 3)
  expect([...(first?.weights ?? [])]).toEqual([0, 1 / 3, 1 / 3].map(Math.fround))
  expect([...(first?.imitation ?? [])]).toEqual([0, 2 / 3, 2 / 3].map(Math.fround))
  expect([...(second?.weights ?? [])]).toEqual([0, 1, 1])
  expect([...(second?.imitation ?? [])]).toEqual([0, 0, 0])
})

it('an episode that is imitated and was not sampled is in one minibatch of each pass', () => {
  const given = batchOf([3, 3, 1])
  const batch = {
    ...given,
    lossMask: Uint8Array.of(0, 1, 1, 0, 0, 0, 0),
    imitation: Float32Array.from([0, 0, 0, 0, 0, 0.5, 0]),
  }
  for (const pass of divided(batch, { minibatches: 2, passes: 2, seed: 1 }))
    expect(pass.map(({ tokens }) => tokens[0]).toSorted()).toEqual([0, 3])
})

const lengthsOf = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 })

it('one minibatch and one pass are the batch itself', () => {
  const batch = batchOf([3, 1, 4])
  expect(divided(batch, { minibatches: 1, passes: 1, seed: 5 })).toEqual([[batch]])
})

// [MINIBATCH-1] [MINIBATCH-2]
it('each pass has every counted token once, in episodes as they were, with weights that add up to 1', () => {
  fc.assert(
    fc.property(
      lengthsOf,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(),
      (lengths, minibatches, passes, seed) => {
        const batch = batchOf(lengths)
        const division = { minibatches, passes, seed }
        const parts = divided(batch, division)
        expect(parts).toEqual(divided(batch, division))
        expect(parts).toHaveLength(passes)
        const episodes = lengths.filter((length) => length > 1).length
        for (const pass of parts) {
          expect(pass).toHaveLength(Math.max(1, Math.min(minibatches, episodes)))
          const counted = pass.flatMap(({ tokens, lossMask }) =>
            [...tokens].filter((_, i) => lossMask[i] === 1),
          )
          expect(counted.toSorted((a, b) => a - b)).toEqual(
            [...batch.tokens].filter((_, i) => batch.lossMask[i] === 1),
          )
          for (const part of pass) {
            // Tokens are numbered by their place, so each must keep the values of its place.
            for (const [i, token] of part.tokens.entries())
              for (const name of [
                'lossMask',
                'behaviourLogprobs',
                'versions',
                'advantages',
                'stale',
              ] as const)
                expect(part[name]?.[i]).toBe(batch[name]?.[token])
            if (episodes > 0) expect(part.weights?.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5)
          }
          const sizes = pass.map(({ offsets }) => offsets.length - 1)
          if (pass.length > 1) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
        }
      },
    ),
  )
})
