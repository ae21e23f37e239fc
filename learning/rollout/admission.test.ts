import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admissible, nextBatch, overdue, type StalenessBound } from './admission.ts'
import { staleness } from './staleness.ts'

const boundOf = fc.record({
  groupsPerUpdate: fc.constant(2),
  maxStaleness: fc.integer({ min: 0, max: 4 }),
  groupsInFlight: fc.option(fc.integer({ min: 1, max: 6 })),
})

describe('admissible', () => {
  it('at most (η + 1)·B groups are admitted beyond those consumed', () => {
    const bound = { groupsPerUpdate: 4, maxStaleness: 1 }
    expect(admissible(bound, { outstanding: 0, inFlight: 0, updatesLeft: 10 })).toBe(8)
    expect(admissible(bound, { outstanding: 5, inFlight: 5, updatesLeft: 10 })).toBe(3)
    expect(admissible(bound, { outstanding: 8, inFlight: 0, updatesLeft: 10 })).toBe(0)
  })

  it('no more groups are admitted than the remaining updates need', () => {
    const bound = { groupsPerUpdate: 4, maxStaleness: 3 }
    expect(admissible(bound, { outstanding: 1, inFlight: 1, updatesLeft: 1 })).toBe(3)
    expect(admissible(bound, { outstanding: 0, inFlight: 0, updatesLeft: 0 })).toBe(0)
  })

  it('no more groups are in flight than may be at once', () => {
    const bound = { groupsPerUpdate: 4, maxStaleness: 1, groupsInFlight: 3 }
    expect(admissible(bound, { outstanding: 0, inFlight: 0, updatesLeft: 10 })).toBe(3)
    expect(admissible(bound, { outstanding: 7, inFlight: 1, updatesLeft: 10 })).toBe(1)
    // Five are still in flight from before the bound was lowered.
    expect(admissible(bound, { outstanding: 5, inFlight: 5, updatesLeft: 10 })).toBe(0)
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

  // [ADMISSION-1] [ADMISSION-2]
  it('no group grows staler than η and nothing waits for ever, in whatever order groups end', () => {
    const scenario = fc.record({
      bound: boundOf,
      updates: fc.integer({ min: 1, max: 12 }),
      picks: fc.array(fc.nat(1000), { minLength: 20, maxLength: 200 }),
    })
    fc.assert(
      fc.property(scenario, ({ bound, updates, picks }) => play(bound, updates, picks)),
      { numRuns: 100 },
    )
  })

  // [ADMISSION-2]
  it('a bound that is changed, and a version that jumps, hold from then on and stop nothing', () => {
    const change = fc.record({ after: fc.integer({ min: 0, max: 60 }), to: boundOf, jump: fc.nat(2) })
    const scenario = fc.record({
      bound: boundOf,
      changes: fc.array(change, { minLength: 1, maxLength: 4 }),
      picks: fc.array(fc.nat(1000), { minLength: 20, maxLength: 200 }),
    })
    fc.assert(
      fc.property(scenario, ({ bound, changes, picks }) => play(bound, 14, picks, changes)),
      { numRuns: 100 },
    )
  })

  // [ADMISSION-4]
  it('all groups of an update belong to the version that it improves with η = 0', () => {
    const bound = { groupsPerUpdate: 2, maxStaleness: 0 }
    expect(nextBatch(bound, { version: 5, ready: [5, 5], inFlight: [] })).toEqual([0, 1])
    expect(nextBatch(bound, { version: 5, ready: [5, 5], inFlight: [5] })).toBeUndefined()
  })
})

describe('overdue', () => {
  // [ADMISSION-3]
  it('what no update can take within the bound is given up, and nothing else', () => {
    // η = 0: only groups of version 3 may be consumed now, two of them.
    const bound = { groupsPerUpdate: 2, maxStaleness: 0 }
    expect(overdue(bound, { version: 3, ready: [2, 3], inFlight: [2, 3] })).toEqual({
      ready: [0],
      inFlight: [0],
    })
    expect(overdue(bound, { version: 3, ready: [3, 3], inFlight: [3] })).toEqual({ ready: [], inFlight: [0] })
  })

  // [ADMISSION-3]
  it('finished groups are kept before those in flight, newer before older', () => {
    // η = 1, B = 1: one group due now and two due in all; of three that are due in all the oldest in flight goes.
    const bound = { groupsPerUpdate: 1, maxStaleness: 1 }
    expect(overdue(bound, { version: 4, ready: [3], inFlight: [3, 4] })).toEqual({ ready: [], inFlight: [0] })
    expect(overdue(bound, { version: 4, ready: [3, 4], inFlight: [4] })).toEqual({ ready: [], inFlight: [0] })
  })

  it('nothing is given up of what was admitted within the bound', () => {
    expect(
      overdue({ groupsPerUpdate: 2, maxStaleness: 2 }, { version: 1, ready: [1, 0], inFlight: [0, 1, 1, 1] }),
    ).toEqual({ ready: [], inFlight: [] })
  })
})

interface Change {
  /** Moves before it. */
  readonly after: number
  readonly to: StalenessBound
  /** Versions that it skips, as a roll-back does. */
  readonly jump: number
}

/** Plays a run in which groups end in the order of the picks. */
function play(
  from: StalenessBound,
  updates: number,
  picks: readonly number[],
  changes: readonly Change[] = [],
): void {
  let bound = from
  let version = 0
  let done = 0
  let inFlight: number[] = []
  let ready: number[] = []
  for (let move = 0; done < updates; move++) {
    for (const { to, jump } of changes.filter(({ after }) => after === move)) {
      bound = to
      version += jump
      const lost = overdue(bound, { version, ready, inFlight })
      ready = ready.filter((_, position) => !lost.ready.includes(position))
      inFlight = inFlight.filter((_, position) => !lost.inFlight.includes(position))
    }
    const outstanding = inFlight.length + ready.length
    const room = admissible(bound, { outstanding, inFlight: inFlight.length, updatesLeft: updates - done })
    inFlight.push(...new Array(room).fill(version))
    expect(inFlight.length + ready.length).toBeLessThanOrEqual(
      (bound.maxStaleness + 1) * bound.groupsPerUpdate,
    )
    const taken = nextBatch(bound, { version, ready, inFlight })
    if (taken !== undefined) {
      for (const position of taken)
        expect(staleness(version, ready[position] ?? Number.NaN)).toBeLessThanOrEqual(bound.maxStaleness)
      expect(taken).toHaveLength(bound.groupsPerUpdate)
      ready = ready.filter((_, position) => !taken.includes(position))
      version += 1
      done += 1
      continue
    }
    expect(inFlight.length).toBeGreaterThan(0)
    const ends = (picks[move % picks.length] ?? 0) % inFlight.length
    ready.push(inFlight[ends] ?? Number.NaN)
    inFlight = inFlight.filter((_, position) => position !== ends)
  }
}
