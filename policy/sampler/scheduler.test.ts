import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { capacityFor } from './prefix-cache.ts'
import { chooseOffer, type Offer, type PendingPrefill, planPrefill } from './scheduler.ts'

const offer = (kind: Offer['kind'], rows: number, age = 0): Offer => ({ kind, rows, age })

describe('the choice of the next step', () => {
  it('takes the larger of two equally old offers, and prefill before decode', () => {
    expect(chooseOffer([offer('decode', 3), offer('decode', 9)])).toEqual(offer('decode', 9))
    expect(chooseOffer([offer('decode', 9), offer('prefill', 9)])).toEqual(offer('prefill', 9))
    expect(chooseOffer([])).toBeUndefined()
  })

  it('does what is ready after a bounded number of other steps, however large the others are', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ kind: fc.constantFrom('prefill', 'decode'), rows: fc.integer({ min: 1, max: 64 }) }),
          {
            minLength: 2,
            maxLength: 8,
          },
        ),
        (works) => {
          const ages = works.map(() => 0)
          let longest = 0
          for (let step = 0; step < 400; step++) {
            const offers = works.map((work, i) => ({ ...work, age: ages[i] as number }) as Offer)
            const chosen = offers.indexOf(chooseOffer(offers) as Offer)
            for (let i = 0; i < ages.length; i++) ages[i] = i === chosen ? 0 : (ages[i] as number) + 1
            longest = Math.max(longest, ...ages)
          }
          // The largest score without age is 3 · 64; each step of waiting counts 4, and at most 7 are as old.
          expect(longest).toBeLessThanOrEqual((3 * 64) / 4 + 8)
        },
      ),
    )
  })
})

describe('background work', () => {
  const waiting = (kind: Offer['kind'], rows: number, age: number): Offer => ({
    ...offer(kind, rows, age),
    background: true,
  })

  it('is done while nothing else is ready, and yields to the smallest offer that is', () => {
    expect(chooseOffer([waiting('decode', 9, 0)])).toEqual(waiting('decode', 9, 0))
    expect(chooseOffer([waiting('prefill', 64, 19), offer('decode', 1)])).toEqual(offer('decode', 1))
  })

  it('gets one step in some twenty beside other work, however many offers it has, and each of them its turn', () => {
    for (const kinds of [1, 2, 5]) {
      const ages = Array.from({ length: kinds + 1 }, () => 0)
      const steps = Array.from({ length: kinds + 1 }, () => 0)
      for (let step = 0; step < 2100; step++) {
        const offers = ages.map((age, i) => (i === 0 ? offer('decode', 4, age) : waiting('prefill', 64, age)))
        const chosen = offers.indexOf(chooseOffer(offers) as Offer)
        for (let i = 0; i < ages.length; i++) ages[i] = i === chosen ? 0 : (ages[i] as number) + 1
        steps[chosen] = (steps[chosen] as number) + 1
      }
      const [training = 0, ...background] = steps
      expect(training / 2100).toBeGreaterThan(0.93)
      expect(Math.min(...background)).toBeGreaterThan(10)
    }
  })
})

describe('a prefill step', () => {
  const pendings = fc
    .array(fc.record({ tokens: fc.integer({ min: 1, max: 900 }), fresh: fc.boolean() }), {
      minLength: 1,
      maxLength: 40,
    })
    .map((list) => list.map((each, slot): PendingPrefill => ({ slot, ...each })))
  const limits = { chunk: 256, padded: 1024 }

  it('takes the oldest slot, mixes no kinds and no very unequal chunks, and stays within its budget', () => {
    fc.assert(
      fc.property(pendings, (pending) => {
        const { fresh, slots } = planPrefill(pending, limits)
        expect(slots[0]?.slot).toBe(pending[0]?.slot)
        expect(new Set(slots.map(({ slot }) => slot)).size).toBe(slots.length)
        const chunks = slots.map(({ tokens }) => tokens)
        for (const { slot, tokens } of slots) {
          expect(pending[slot]?.fresh).toBe(fresh)
          expect(tokens).toBe(Math.min(pending[slot]?.tokens ?? 0, limits.chunk))
        }
        expect(Math.max(...chunks)).toBeLessThanOrEqual(4 * Math.min(...chunks))
        if (slots.length > 1) expect(Math.max(...chunks) * slots.length).toBeLessThanOrEqual(limits.padded)
      }),
    )
  })

  it('takes together what is alike: 32 observations of 30 tokens are one step', () => {
    const pending = Array.from({ length: 32 }, (_, slot) => ({ slot, tokens: 30, fresh: false }))
    expect(planPrefill(pending, limits).slots.length).toBe(32)
  })

  it('refuses to plan nothing', () => {
    expect(() => planPrefill([], limits)).toThrow(RangeError)
  })
})

describe('a capacity', () => {
  it('holds its length, wastes less than 128 places or a third of itself, and grows with it', () => {
    let before = 0
    for (let length = 1; length <= 8192; length++) {
      const capacity = capacityFor(length)
      expect(capacity).toBeGreaterThanOrEqual(length)
      expect(capacity - length).toBeLessThan(Math.max(128, capacity / 3))
      expect(capacity).toBeGreaterThanOrEqual(before)
      before = capacity
    }
  })

  it('is one of few: 128, 256, 384, 512, 768, 1024, 1536, 2048', () => {
    const capacities = new Set(Array.from({ length: 2048 }, (_, i) => capacityFor(i + 1)))
    expect([...capacities]).toEqual([128, 256, 384, 512, 768, 1024, 1536, 2048])
  })
})
