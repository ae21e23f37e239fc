import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { resolveConfig } from '../config/files/loader.ts'
import { configSchema } from '../config/schema/schema.ts'
import { groupId, runId } from '../identity/identity.ts'
import { keptVersions, versionsInUse } from '../learning/run/versions-in-use.ts'
import { holdOffSeconds } from '../workflows/state/fruitless-groups.ts'
import { applySettings, settingsNow } from '../workflows/state/live-settings.ts'
import { progressOf } from '../workflows/state/training-progress.ts'
import { receiveEvaluation, recordEvaluating } from '../workflows/state/transitions/evaluations.ts'
import { giveUpOverdue, receiveGroup, recordAdmissions } from '../workflows/state/transitions/groups.ts'
import { batchIsReady, roomForGroups } from '../workflows/state/transitions/pipeline.ts'
import { changeConfiguration, changeRollout } from '../workflows/state/transitions/settings.ts'
import { receiveSignal, settleUpdate, startBatch } from '../workflows/state/transitions/update.ts'
import { pin, recordVersion } from '../workflows/state/transitions/versions.ts'
import type { GroupReport } from './messages.ts'
import { gatesInForce, initialState, type TrainingState } from './training-state.ts'

const run = runId('demo')
const signal = { groups: 2, withPreference: 0, won: 0, lost: 2, unusable: 0, cutOff: 0 }

function stateWith(groupsPerUpdate: number, maxStaleness: number, updates = 1000): TrainingState {
  const config = configSchema.parse({ rollout: { groupsPerUpdate, maxStaleness }, training: { updates } })
  return initialState(run, config, 0)
}

function report(state: TrainingState, number: number, size = 2): GroupReport {
  const version = state.inFlight.find((group) => group.number === number)?.version ?? 0
  const episodes = Array.from({ length: size }, (_, sample) => ({
    episode: `${run}/g${number}/s${sample}/a0` as never,
    outcome: 'completed' as const,
    reward: sample % 2,
    success: true,
    turns: 3,
    actionTokens: 9,
    tokens: 30,
  }))
  return { group: groupId(run, number), number, taskIndex: 0, task: 'alfworld', version, episodes }
}

describe('the state of a training run', () => {
  // [STATE-1]
  it('is equal to itself after a round trip through JSON', () => {
    const state = stateWith(2, 1)
    recordAdmissions(state)
    receiveGroup(state, report(state, 0))
    expect(JSON.parse(JSON.stringify(state))).toEqual(state)
  })

  it('counts the updates that had nothing to learn from, in a row and in all', () => {
    const state = stateWith(2, 0)
    for (const withPreference of [0, 1, 0, 0]) receiveSignal(state, { ...signal, withPreference })
    expect(progressOf(state)).toMatchObject({ emptyUpdates: 3, nothingLearnt: { updates: 2 } })
  })

  // [STATE-3]
  it('counts a second report of the same group once', () => {
    const state = stateWith(2, 0)
    recordAdmissions(state)
    const first = report(state, 1)
    receiveGroup(state, first)
    receiveGroup(state, first)
    expect(state.ready).toHaveLength(1)
    expect(state.episodes).toBe(2)
  })

  it('lets a failed group take part in no update and admits another in its place', () => {
    const state = stateWith(2, 0)
    recordAdmissions(state)
    receiveGroup(state, report(state, 0, 0))
    expect(state.ready).toHaveLength(0)
    expect(roomForGroups(state)).toBe(1)
  })

  it('starts groups less and less often while none of a round ends with a result, and at once after the first', () => {
    const state = stateWith(2, 1)
    const held: number[] = []
    for (let number = 0; number < 64; number++) {
      recordAdmissions(state)
      receiveGroup(state, report(state, number, 0))
      held.push(holdOffSeconds(state))
    }
    // A round is at least eight groups.
    expect(held.slice(0, 7).every((seconds) => seconds === 0)).toBe(true)
    expect([7, 15, 23, 31, 55, 63].map((at) => held[at])).toEqual([10, 20, 40, 80, 600, 600])
    expect(progressOf(state).warning).toContain('the last 64 groups ended without a result')
    recordAdmissions(state)
    receiveGroup(state, report(state, 64))
    expect(holdOffSeconds(state)).toBe(0)
    expect(progressOf(state).warning).toBeUndefined()
  })

  it('counts a second report of the same evaluation once', () => {
    const state = stateWith(2, 0)
    recordEvaluating(state, { suite: 'held_out', version: 0 })
    const summary = { suite: 'held_out', version: 0, success: 0.5, n: 10, planned: 10 }
    receiveEvaluation(state, summary)
    receiveEvaluation(state, summary)
    expect(state.evaluations).toEqual([summary])
    expect(state.evaluating).toEqual([])
  })

  it('gives up what would grow too old when the staleness bound is lowered, and is not stuck', () => {
    const state = stateWith(2, 2)
    recordAdmissions(state)
    for (const number of [0, 1, 2]) receiveGroup(state, report(state, number))
    recordVersion(state, 1)
    changeRollout(state, { maxStaleness: 0 })
    // All six are of version 0: none may be trained on at version 1.
    expect(giveUpOverdue(state).map(({ number }) => number)).toEqual([3, 4, 5])
    expect(state).toMatchObject({ ready: [], inFlight: [], givenUp: 6 })
    expect(roomForGroups(state)).toBe(2)
  })

  it('keeps the checkpoints that a person asked for, and the best of each suite', () => {
    const state = stateWith(2, 1)
    pin(state, 4)
    for (const [suite, version, success] of [
      ['a', 1, 0.5],
      ['a', 2, 0.7],
      ['a', 3, 0.6],
      ['b', 3, 0.1],
    ] as const)
      receiveEvaluation(state, { suite, version, success, n: 10, planned: 10 })
    expect([...keptVersions(state)].sort()).toEqual([2, 3, 4])
  })

  it('keeps every version that a group in flight, the pool or an evaluation may ask for', () => {
    const state: TrainingState = {
      ...stateWith(2, 1),
      version: 9,
      pool: [5],
      inFlight: [{ number: 0, taskIndex: 0, position: 0, version: 8, pool: [2] }],
      evaluating: [{ suite: 'held_out', version: 7 }],
    }
    expect(versionsInUse(state)).toEqual([0, 2, 5, 7, 8, 9])
  })

  // [CROSS-POLICY-3]
  it('begins with version 0 in its pool, from which the groups of each version are admitted', () => {
    const state = initialState(runId('pool'), configSchema.parse({}), 0)
    expect(state.config.crossPolicy).toMatchObject({ poolSize: 1, refreshEvery: 24, weighting: 'equal' })
    expect(state.pool).toEqual([0])
    expect(recordAdmissions(state).every(({ pool }) => pool.join() === '0')).toBe(true)
    const pools: string[] = []
    let reached: Pick<TrainingState, 'version' | 'pool'> = state
    for (let step = 1; step <= 50; step++) {
      const next: TrainingState = { ...state, ...reached, step, inFlight: [] }
      recordVersion(next, step)
      reached = { version: next.version, pool: next.pool }
      pools.push(recordAdmissions(next)[0]?.pool.join() ?? '')
      expect(versionsInUse(next)).toContain(next.pool[0])
    }
    expect([24, 25, 48, 49, 50].map((version) => pools[version - 1])).toEqual(['0', '24', '24', '48', '48'])
  })

  it('carries the weights of its pool, halfway to what each update has measured', () => {
    const state = stateWith(2, 1)
    const figures = { groups: [], success: {}, reward: {}, samples: {}, staleness: 0, signal }
    settleUpdate(state, { ...figures, memberWeights: [{ version: 0, weight: 0.5 }] })
    expect(state.memberWeights).toEqual([{ version: 0, weight: 0.75 }])
    settleUpdate(state, figures)
    expect(state.memberWeights).toEqual([{ version: 0, weight: 0.75 }])
  })

  // [STATE-4] [STATE-5]
  it('admits within (η + 1)·B, trains each group once and none older than η, in whatever order groups end', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 3 }),
        fc.infiniteStream(fc.nat()),
        (groupsPerUpdate, maxStaleness, choices) => {
          const state = stateWith(groupsPerUpdate, maxStaleness, 12)
          const trained = new Set<number>()
          let steps = 0
          while (state.step < 12) {
            recordAdmissions(state)
            expect(state.inFlight.length + state.ready.length).toBeLessThanOrEqual(
              (maxStaleness + 1) * groupsPerUpdate,
            )
            while (!batchIsReady(state)) {
              const choice = choices.next().value ?? 0
              const group = state.inFlight[choice % state.inFlight.length]
              expect(group).toBeDefined()
              if (group !== undefined) receiveGroup(state, report(state, group.number))
            }
            const batch = startBatch(state)
            for (const group of batch) {
              expect(trained.has(group.number)).toBe(false)
              trained.add(group.number)
              expect(state.version - group.version).toBeLessThanOrEqual(maxStaleness)
            }
            const groups = batch.map(({ number }) => groupId(run, number))
            settleUpdate(state, { groups, success: {}, reward: {}, samples: {}, staleness: 0, signal })
            recordVersion(state, state.version + 1)
            steps += 1
          }
          expect(trained.size).toBe(steps * groupsPerUpdate)
        },
      ),
      { numRuns: 60 },
    )
  })
})

const suites = ['few', 'many'].map((name) => ({ name, task: 'kg' }))

const config = resolveConfig({
  tasks: [{ task: 'kg' }],
  evaluation: {
    suites,
    gates: [
      { suite: 'few', drop: 0.1 },
      { suite: 'many', drop: 0.2 },
    ],
  },
})

/** Both gates have been ordered otherwise than configured. */
function ordered(): TrainingState {
  const state = structuredClone(initialState(runId('gated'), config, 0))
  applySettings(state, { 'evaluation.gates.0.drop': 0.3, 'evaluation.gates.1.drop': 0.4 })
  return state
}

function dropsOf(state: TrainingState): readonly number[] {
  return gatesInForce(state).map(({ drop }) => drop)
}

// [GATE-SETTINGS-1]
test('an ordered threshold holds over the configured one, and the gate is otherwise as it was', () => {
  const state = structuredClone(initialState(runId('gated'), config, 0))
  const changed = applySettings(state, { 'evaluation.gates.1.drop': 0 })
  expect(changed).toEqual([{ key: 'evaluation.gates.1.drop', from: 0.2, to: 0, holds: 'now' }])
  expect(gatesInForce(state)).toEqual([
    config.evaluation.gates[0],
    { ...config.evaluation.gates[1], drop: 0 },
  ])
  expect(settingsNow(state).find(({ key }) => key === 'evaluation.gates.1.drop')?.value).toBe(0)
})

test('a changed configuration takes back what was ordered of the gates that it changes', () => {
  const one = ordered()
  changeConfiguration(one, config, new Set(['evaluation.gates.0.drop', 'evaluation.gates.1.confidence']))
  expect(dropsOf(one)).toEqual([0.1, 0.4])
  for (const key of ['evaluation.gates', 'evaluation.gates.1', 'evaluation.gates.0.suite']) {
    const others = ordered()
    changeConfiguration(others, config, new Set([key]))
    expect(dropsOf(others)).toEqual([0.1, 0.2])
  }
})
