import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admissible, nextBatch } from './admission.ts'
import { staleness } from './staleness.ts'

describe('admissible', () => {
  it('at most (η + 1)·B groups are admitted beyond those consumed', () => {
    const bound = { groupsPerUpdate: 4, maxStaleness: 1 }
    expect(admissible(bound, { outstanding: 0, updatesLeft: 10 })).toBe(8)
    expect(admissible(bound, { outstanding: 5, updatesLeft: 10 })).toBe(3)
    expect(admissible(bound, { outstanding: 8, updatesLeft: 10 })).toBe(0)
  })

  it('no more groups are admitted than the remaining updates need', () => {
    const bound = { groupsPerUpdate: 4, maxStaleness: 3 }
    expect(admissible(bound, { outstanding: 1, updatesLeft: 1 })).toBe(3)
    expect(admissible(bound, { outstanding: 0, updatesLeft: 0 })).toBe(0)
  })
})

describe('nextBatch', () => {
  it('the oldest ready groups are taken', () => {
    const bound = { groupsPerUpdate: 2, maxStaleness: 2 }
    expect(nextBatch(bound, { version: 2, ready: [2, 1, 2, 1], inFlight: [] })).toEqual([1, 3])
  })

  it('an update waits for a group in flight that would grow too old', () => {
    const bound = { groupsPerUpdate: 1, maxStaleness: 1 }
    expect(nextBatch(bound, { version: 1, ready: [1], inFlight: [0] })).toBeUndefined()
    expect(nextBatch(bound, { version: 1, ready: [1, 0], inFlight: [] })).toEqual([1])
  })

  it('an update waits when too many old groups are left for the updates that may still take them', () => {
    // η = 2, B = 2, version 1: four groups of version 0 in flight must be consumed at versions 1 and 2.
    // Taking the two ready ones of version 1 now would leave four for the one update at version 2.
    const bound = { groupsPerUpdate: 2, maxStaleness: 2 }
    expect(nextBatch(bound, { version: 1, ready: [1, 1], inFlight: [0, 0, 0, 0] })).toBeUndefined()
    expect(nextBatch(bound, { version: 1, ready: [1, 1, 0, 0], inFlight: [0, 0] })).toEqual([2, 3])
  })

  it('no group grows staler than η and nothing waits for ever, in whatever order groups end', () => {
    const scenario = fc.record({
      groupsPerUpdate: fc.integer({ min: 1, max: 4 }),
      maxStaleness: fc.integer({ min: 0, max: 4 }),
      updates: fc.integer({ min: 1, max: 12 }),
      picks: fc.array(fc.nat(1000), { minLength: 20, maxLength: 200 }),
    })
    fc.assert(
      fc.property(scenario, ({ updates, picks, ...bound }) => {
        let version = 0
        let inFlight: number[] = []
        let ready: number[] = []
        for (let move = 0; version < updates; move++) {
          const room = admissible(bound, {
            outstanding: inFlight.length + ready.length,
            updatesLeft: updates - version,
          })
          inFlight.push(...new Array(room).fill(version))
          expect(inFlight.length + ready.length).toBeLessThanOrEqual(
            (bound.maxStaleness + 1) * bound.groupsPerUpdate,
          )
          const taken = nextBatch(bound, { version, ready, inFlight })
          if (taken !== undefined) {
            for (const position of taken)
              expect(staleness(version, ready[position] ?? Number.NaN)).toBeLessThanOrEqual(
                bound.maxStaleness,
              )
            expect(taken).toHaveLength(bound.groupsPerUpdate)
            ready = ready.filter((_, position) => !taken.includes(position))
            version += 1
            continue
          }
          expect(inFlight.length).toBeGreaterThan(0)
          const ends = (picks[move % picks.length] ?? 0) % inFlight.length
          ready.push(inFlight[ends] ?? Number.NaN)
          inFlight = inFlight.filter((_, position) => position !== ends)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('all groups of an update belong to the version that it improves with η = 0', () => {
    const bound = { groupsPerUpdate: 2, maxStaleness: 0 }
    expect(nextBatch(bound, { version: 5, ready: [5, 5], inFlight: [] })).toEqual([0, 1])
    expect(nextBatch(bound, { version: 5, ready: [5, 5], inFlight: [5] })).toBeUndefined()
  })
})
