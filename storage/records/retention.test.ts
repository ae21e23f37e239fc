/** Retention as a pure rule: what goes, what stays, and that unknown means stay. */
import { describe, expect, it } from 'vitest'
import { planRetention, type RetentionPolicy, type RunHoldings, type TrajectoryHolding } from './retention.ts'

const day = 24 * 60 * 60 * 1000
const now = 100 * day

const policy: RetentionPolicy = {
  latestCheckpoints: 2,
  everyCheckpoint: 0,
  bestCheckpoints: 1,
  askedVersions: [],
  batches: 2,
  trajectoryMs: undefined,
  trajectoryBytes: undefined,
}

function holdings(parts: Partial<RunHoldings> = {}): RunHoldings {
  return {
    done: false,
    version: 10,
    checkpoints: Array.from({ length: 11 }, (_, version) => ({ version, bytes: 100 })),
    warmStart: [],
    inUse: [10],
    pinned: [],
    evaluations: [],
    batches: [],
    step: 10,
    trajectories: [],
    ...parts,
  }
}

function versionsThatGo(of: Partial<RunHoldings>, by: Partial<RetentionPolicy> = {}): number[] {
  return planRetention(holdings(of), { ...policy, ...by }, now).flatMap((removal) =>
    removal.kind === 'checkpoint' ? [removal.version] : [],
  )
}

function trajectory(parent: string, parts: Partial<TrajectoryHolding> = {}): TrajectoryHolding {
  return { parent, ended: now - day, use: { consumedBy: 1 }, episodes: 8, bytes: 1000, ...parts }
}

describe('checkpoints', () => {
  it('keeps version 0, the latest, and what is in use or pinned', () => {
    expect(versionsThatGo({ inUse: [4], pinned: [6] })).toEqual([1, 2, 3, 5, 7, 8])
  })

  it('keeps those that answer questions of environments', () => {
    expect(versionsThatGo({}, { askedVersions: [0, 4] })).toEqual([1, 2, 3, 5, 6, 7, 8])
  })

  it('keeps every n-th', () => {
    expect(versionsThatGo({}, { everyCheckpoint: 3 })).toEqual([1, 2, 4, 5, 7, 8])
  })

  it('keeps the best of each suite, of equals the newest', () => {
    const evaluations = [
      { suite: 'a', version: 2, success: 0.5, n: 40, planned: 40 },
      { suite: 'a', version: 3, success: 0.5, n: 40, planned: 40 },
      { suite: 'a', version: 4, success: 0.4, n: 40, planned: 40 },
      { suite: 'b', version: 5, success: 0.1, n: 40, planned: 40 },
    ]
    expect(versionsThatGo({ evaluations })).toEqual([1, 2, 4, 6, 7, 8])
    expect(versionsThatGo({ evaluations }, { bestCheckpoints: 2 })).toEqual([1, 4, 6, 7, 8])
  })

  it('counts only versions that still have a checkpoint among the best', () => {
    const evaluations = [
      { suite: 'a', version: 20, success: 0.9, n: 40, planned: 40 },
      { suite: 'a', version: 3, success: 0.5, n: 40, planned: 40 },
    ]
    expect(versionsThatGo({ evaluations })).not.toContain(3)
  })

  it('keeps all where it is unknown which are in use, or which are pinned', () => {
    expect(versionsThatGo({ inUse: undefined })).toEqual([])
    expect(versionsThatGo({ pinned: undefined })).toEqual([])
  })

  it('keeps all before a version is published, and those from the current one on', () => {
    expect(versionsThatGo({ version: null })).toEqual([])
    expect(versionsThatGo({ version: 4, inUse: [4] })).toEqual([1, 2, 3])
  })
})

describe('the warm start and batches', () => {
  it('of a warm start go once a version is published', () => {
    const warmStart = [{ name: 'warm-1', bytes: 10 }]
    expect(planRetention(holdings({ checkpoints: [], warmStart }), policy, now)).toHaveLength(1)
    expect(planRetention(holdings({ checkpoints: [], warmStart, version: null }), policy, now)).toEqual([])
  })

  it('of updates that have not ended stay, as do the latest of those that have', () => {
    const batches = [7, 8, 9, 10, 11].map((step) => ({ step, bytes: 10 }))
    const gone = planRetention(holdings({ checkpoints: [], batches }), policy, now)
    expect(gone).toMatchObject([
      { kind: 'batch', step: 7 },
      { kind: 'batch', step: 8 },
    ])
  })
})

describe('trajectories', () => {
  const gone = (trajectories: TrajectoryHolding[], by: Partial<RetentionPolicy>, done = false) =>
    planRetention(holdings({ checkpoints: [], trajectories, done }), { ...policy, ...by }, now).map(
      (removal) => (removal.kind === 'trajectories' ? removal.parent : removal.kind),
    )

  it('go beyond their age', () => {
    const both = [trajectory('old', { ended: now - 8 * day }), trajectory('new')]
    expect(gone(both, { trajectoryMs: 7 * day })).toEqual(['old'])
    expect(gone(both, {})).toEqual([])
  })

  it('go beyond their size, the oldest first, and no more than need be', () => {
    const four = [1, 4, 2, 3].map((age) => trajectory(`${age}`, { ended: now - age * day }))
    expect(gone(four, { trajectoryBytes: 2500 })).toEqual(['4', '3'])
    expect(gone(four, { trajectoryBytes: 4000 })).toEqual([])
  })

  it('that an update may still read never go, however old or large', () => {
    const needed = [
      trajectory('playing', { use: 'playing', ended: null }),
      trajectory('waiting', { use: 'waiting', ended: 0 }),
      trajectory('in progress', { use: { consumedBy: 11 }, ended: 0 }),
    ]
    expect(gone(needed, { trajectoryMs: 0, trajectoryBytes: 0 })).toEqual([])
    expect(gone(needed, { trajectoryMs: 0, trajectoryBytes: 0 }, true)).toEqual(['waiting'])
  })

  it('of evaluations and abandoned groups go as others do', () => {
    const two = [trajectory('e', { use: 'evaluated' }), trajectory('g', { use: 'abandoned' })]
    expect(gone(two, { trajectoryMs: 0 })).toEqual(['e', 'g'])
  })
})

it('a plan that was carried out leaves nothing to plan', () => {
  const batches = [1, 2, 9, 10].map((step) => ({ step, bytes: 10 }))
  const trajectories = [1, 2, 3].map((age) => trajectory(`${age}`, { ended: now - age * day }))
  const before = holdings({ batches, trajectories, warmStart: [{ name: 'warm-0', bytes: 1 }] })
  const strict = { ...policy, trajectoryBytes: 1500 }
  const removed = planRetention(before, strict, now)
  const isLeft = (kind: string, key: unknown) =>
    !removed.some((removal) => removal.kind === kind && Object.values(removal).includes(key as never))
  const after = holdings({
    checkpoints: before.checkpoints.filter(({ version }) => isLeft('checkpoint', version)),
    batches: batches.filter(({ step }) => isLeft('batch', step)),
    trajectories: trajectories.filter(({ parent }) => isLeft('trajectories', parent)),
  })
  expect(removed.length).toBeGreaterThan(5)
  expect(planRetention(after, strict, now)).toEqual([])
})
