import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { drawnReplays, earlierSteps } from './replay.ts'

describe('replay', () => {
  it('groups of the last updates may be read once more', () => {
    expect(earlierSteps(1, { maxAge: 4 })).toEqual([])
    expect(earlierSteps(3, { maxAge: 4 })).toEqual([1, 2])
    expect(earlierSteps(9, { maxAge: 4 })).toEqual([5, 6, 7, 8])
  })

  // [REPLAY-1]
  it('no group is older than the bound, nor of the update itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 64 }), (step, maxAge) => {
        for (const other of earlierSteps(step, { maxAge })) {
          expect(step - other).toBeGreaterThan(0)
          expect(step - other).toBeLessThanOrEqual(maxAge)
          expect(other).toBeGreaterThan(0)
        }
      }),
    )
  })

  // [REPLAY-2]
  it('as many are drawn as the share allows, each once, in their order, the same for the same seed', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(999), { maxLength: 40 }),
        fc.integer({ min: 1, max: 16 }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        fc.nat(),
        (groups, groupsPerUpdate, share, seed) => {
          const bound = { groupsPerUpdate, share }
          const drawn = drawnReplays(groups, bound, uniforms(seed))
          expect(drawn).toEqual(drawnReplays(groups, bound, uniforms(seed)))
          expect(drawn).toHaveLength(Math.min(groups.length, Math.floor(groupsPerUpdate * share)))
          expect(drawn).toEqual(groups.filter((group) => drawn.includes(group)))
        },
      ),
    )
  })
})
