import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { uniforms } from '../identity/identity.ts'
import { drawVersion, refreshPool } from './cross-policy.ts'

describe('drawVersion', () => {
  it('the share of turns from the pool is staleShare, its members equally often', () => {
    const next = uniforms(7)
    const seen = new Map<number, number>()
    const n = 20_000
    for (let turn = 0; turn < n; turn++) {
      const version = drawVersion(9, { staleShare: 0.25, pool: [3, 6] }, [next(), next()])
      seen.set(version, (seen.get(version) ?? 0) + 1)
    }
    // standard error of a share near 0.25 at n = 20,000: √(0.25·0.75/20000) = 0.003; four of them
    expect(Math.abs((seen.get(9) ?? 0) / n - 0.75)).toBeLessThan(0.0125)
    expect(Math.abs((seen.get(3) ?? 0) / n - 0.125)).toBeLessThan(0.0125)
    expect(Math.abs((seen.get(6) ?? 0) / n - 0.125)).toBeLessThan(0.0125)
  })

  // [CROSS-POLICY-1]
  it('the current version is never drawn as a stale one', () => {
    expect(drawVersion(9, { staleShare: 1, pool: [9] }, [0, 0])).toBe(9)
    expect(drawVersion(9, { staleShare: 1, pool: [3, 9] }, [0, 0.99])).toBe(3)
    expect(drawVersion(9, { staleShare: 1, pool: [] }, [0, 0])).toBe(9)
  })

  it('weights say how often each member is taken', () => {
    // weights 1 and 3: the first quarter of the second uniform belongs to version 3
    const rule = { staleShare: 1, pool: [3, 6], weights: [1, 3] }
    expect(drawVersion(9, rule, [0, 0.24])).toBe(3)
    expect(drawVersion(9, rule, [0, 0.26])).toBe(6)
    expect(drawVersion(9, { ...rule, weights: [0, 0] }, [0, 0])).toBe(9)
    expect(() => drawVersion(9, { ...rule, weights: [1] }, [0, 0])).toThrow(RangeError)
  })
})

describe('refreshPool', () => {
  it('the pool takes the current version every refreshEvery updates and forgets the oldest', () => {
    const schedule = { poolSize: 2, refreshEvery: 5 }
    let pool: number[] = []
    for (let step = 1; step <= 17; step++) pool = refreshPool(pool, { step, current: step }, schedule)
    expect(pool).toEqual([10, 15])
  })

  // [CROSS-POLICY-2]
  it('the pool is ascending and never larger than its size, however often an update is told', () => {
    const updates = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 40 })
    fc.assert(
      fc.property(updates, fc.nat(4), fc.integer({ min: 1, max: 6 }), (repeats, poolSize, refreshEvery) => {
        let pool: number[] = []
        for (const [index, times] of repeats.entries())
          for (let again = 0; again < times; again++)
            pool = refreshPool(pool, { step: index + 1, current: index + 1 }, { poolSize, refreshEvery })
        expect(pool.length).toBeLessThanOrEqual(poolSize)
        expect(pool).toEqual([...new Set(pool)].sort((a, b) => a - b))
      }),
    )
  })
})
