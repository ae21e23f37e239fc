import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { episodeId, groupId, runId, seedOfWork, uniforms } from '../../identity/identity.ts'
import {
  drawnFromPool,
  drawVersion,
  firstPool,
  type PoolSchedule,
  poolAt,
  refreshPool,
} from './cross-policy.ts'

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

/** The pool at each version from 0 on, when every update changes the policy. */
function poolsOf(schedule: PoolSchedule, versions: number): number[][] {
  const pools = [firstPool(schedule)]
  for (let current = 1; current < versions; current++)
    pools.push(refreshPool(pools.at(-1) ?? [], { before: current - 1, current }, schedule))
  return pools
}

describe('refreshPool', () => {
  it('the pool begins with version 0 and takes in a version each time that its newest is refreshEvery behind', () => {
    // 0 is 5 behind at 5, and 6 would be too many: 5 comes in at 6, 10 at 11, 15 at 16.
    const pools = poolsOf({ poolSize: 2, refreshEvery: 5 }, 18)
    expect([0, 5, 6, 10, 11, 16].map((version) => pools[version])).toEqual([
      [0],
      [0],
      [0, 5],
      [0, 5],
      [5, 10],
      [10, 15],
    ])
    expect(poolsOf({ poolSize: 0, refreshEvery: 5 }, 8).flat()).toEqual([])
  })

  // [CROSS-POLICY-3]
  it('with one member and 24 versions what the pool samples is 12 versions old in the mean, at most 24, and never missing', () => {
    const schedule = { poolSize: 1, refreshEvery: 24 }
    // From version 0 on 0, 1 … 24, so 12 in the mean; then each member from 1 to 24, so 12.5.
    const ages = poolsOf(schedule, 25 + 4 * 24).map((pool, version) => {
      const drawn = poolAt(version, pool)
      expect(drawn).toHaveLength(1)
      return version - (drawn[0] ?? Number.NaN)
    })
    expect(ages.slice(0, 25)).toEqual(Array.from({ length: 25 }, (_, age) => age))
    expect(Math.max(...ages)).toBe(24)
    expect(ages.reduce((sum, age) => sum + age, 0) / ages.length).toBeCloseTo((25 * 12 + 96 * 12.5) / 121, 9)
  })

  // [CROSS-POLICY-1] [CROSS-POLICY-2] [CROSS-POLICY-3]
  it('the pool is ascending, never larger than its size and never without an older version, whatever updates change', () => {
    const changes = fc.array(fc.boolean(), { maxLength: 60 })
    fc.assert(
      fc.property(changes, fc.nat(4), fc.integer({ min: 1, max: 6 }), (changed, poolSize, refreshEvery) => {
        const schedule = { poolSize, refreshEvery }
        let pool = firstPool(schedule)
        let version = 0
        for (const isChanged of changed) {
          const before = version
          if (isChanged) version += 1
          pool = refreshPool(pool, { before, current: version }, schedule)
          // Repeating the refresh, as after a crash, changes nothing.
          expect(refreshPool(pool, { before: version, current: version }, schedule)).toEqual(pool)
          expect(pool).toHaveLength(Math.min(poolSize, pool.length))
          expect(pool).toEqual([...new Set(pool)].sort((a, b) => a - b))
          const drawn = poolAt(version, pool)
          expect(drawn.length > 0).toBe(poolSize > 0)
          expect(drawn.every((member) => member < version || version === 0)).toBe(true)
          if (poolSize > 0) expect(version - (drawn.at(-1) ?? 0)).toBeLessThanOrEqual(refreshEvery)
        }
      }),
    )
  })

  it('a run that began without a pool gets version 0 with its next version', () => {
    expect(refreshPool([], { before: 3, current: 4 }, { poolSize: 1, refreshEvery: 24 })).toEqual([0])
    expect(refreshPool([], { before: 40, current: 41 }, { poolSize: 1, refreshEvery: 24 })).toEqual([40])
  })
})

describe('drawnFromPool', () => {
  it('says of each turn what the draws of the episode decided', () => {
    const episode = episodeId(groupId(runId('draws'), 3), 2, 1)
    for (const attemptsDrawAlike of [true, false]) {
      const drawing = attemptsDrawAlike ? episodeId(groupId(runId('draws'), 3), 2, 0) : episode
      const next = uniforms(seedOfWork(7, drawing, 'versions'))
      const rule = { staleShare: 0.4, pool: [2] }
      const versions = Array.from({ length: 50 }, () => drawVersion(9, rule, [next(), next()]))
      const draws = drawnFromPool({ seed: 7, episode, attemptsDrawAlike, staleShare: 0.4 }, 50)
      expect(draws).toEqual(versions.map((version) => version === 2))
      expect(new Set(draws).size).toBe(2)
    }
  })
})
