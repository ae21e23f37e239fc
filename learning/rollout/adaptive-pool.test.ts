import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adaptedRule, blendedWeights, leastWeight, memberWeight } from './adaptive-pool.ts'

const worth = fc.nat(500).chain((turns) => fc.record({ turns: fc.constant(turns), won: fc.nat(turns) }))
const share = fc.double({ min: 1e-6, max: 1, noNaN: true })

describe('memberWeight', () => {
  it('is the effective share times the success beside that of fresh turns', () => {
    // success (24 + 1) / (98 + 2) = 0.25 beside (49 + 1) / (98 + 2) = 0.5: 0.8 · 0.5 = 0.4
    const member = { version: 3, effectiveShare: 0.8, turns: 98, won: 24 }
    expect(memberWeight(member, { turns: 98, won: 49 })).toBeCloseTo(0.4, 12)
  })

  // [ADAPTIVE-POOL-2]
  it('is 1 for a member that is as the current version, and a member that wins more is taken no more often', () => {
    const fresh = { turns: 98, won: 49 }
    expect(memberWeight({ version: 3, effectiveShare: 1, ...fresh }, fresh)).toBe(1)
    expect(memberWeight({ version: 3, effectiveShare: 1, turns: 98, won: 90 }, fresh)).toBe(1)
  })

  // [ADAPTIVE-POOL-1] [ADAPTIVE-POOL-2]
  it('is within its bounds, and no higher for a member that diverges more or wins less', () => {
    fc.assert(
      fc.property(worth, worth, share, share, (member, fresh, one, other) => {
        const weightAt = (effectiveShare: number, won: number) =>
          memberWeight({ version: 1, effectiveShare, turns: member.turns, won }, fresh)
        const weight = weightAt(Math.max(one, other), member.won)
        expect(weight).toBeGreaterThanOrEqual(leastWeight)
        expect(weight).toBeLessThanOrEqual(1)
        expect(weightAt(Math.min(one, other), member.won)).toBeLessThanOrEqual(weight)
        expect(weightAt(Math.max(one, other), Math.floor(member.won / 2))).toBeLessThanOrEqual(weight)
      }),
    )
  })
})

describe('blendedWeights', () => {
  it('goes halfway to what was measured, keeps what was not, and forgets who left the pool', () => {
    const before = [
      { version: 1, weight: 0.2 },
      { version: 5, weight: 0.6 },
      { version: 7, weight: 0.4 },
    ]
    // 5: (0.6 + 0.8) / 2 = 0.7; 9 begins with 1: (1 + 0.5) / 2 = 0.75
    const measured = [
      { version: 5, weight: 0.8 },
      { version: 9, weight: 0.5 },
    ]
    const blended = blendedWeights(before, measured, [5, 7, 9, 11])
    expect(blended.map(({ version }) => version)).toEqual([5, 7, 9])
    expect(blended[0]?.weight).toBeCloseTo(0.7, 12)
    expect(blended[1]?.weight).toBe(0.4)
    expect(blended[2]?.weight).toBe(0.75)
  })
})

describe('adaptedRule', () => {
  it('takes each member with its equal part of the share, times its weight', () => {
    // 0.2 · (1 + 0.5) / 2 = 0.15, of which 1 by 1.5 belongs to the member that was not measured: 0.1 each, times weight
    const rule = adaptedRule({ staleShare: 0.2, pool: [3, 6] }, [{ version: 6, weight: 0.5 }])
    expect(rule).toEqual({ staleShare: expect.closeTo(0.15, 12), pool: [3, 6], weights: [1, 0.5] })
    expect(adaptedRule({ staleShare: 0.2, pool: [] }, [])).toEqual({ staleShare: 0.2, pool: [] })
  })

  // [ADAPTIVE-POOL-1]
  it('never samples more from the pool than is configured', () => {
    const known = fc.array(
      fc.record({ version: fc.nat(5), weight: fc.double({ min: leastWeight, max: 1, noNaN: true }) }),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(
        known,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 6 }),
        (weights, staleShare, size) => {
          const pool = Array.from({ length: size }, (_, version) => version)
          const rule = adaptedRule({ staleShare, pool }, weights)
          expect(rule.staleShare).toBeLessThanOrEqual(staleShare * (1 + 1e-12))
          expect(rule.weights).toHaveLength(size)
        },
      ),
    )
  })
})
