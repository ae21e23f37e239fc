/** A run's state is bounded, however long the run lasts and whatever its orders are. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resolveConfig } from '../../config/files/loader.ts'
import type { ConfigInput, RunConfig } from '../../config/schema/schema.ts'
import { initialState, type TrainingState } from '../../contract/training-state.ts'
import { groupId, runId } from '../../identity/identity.ts'
import { clipped, jsonBytes, largestState, mostStateBytes } from '../../learning/run/state-bounds.ts'
import { applySettings, objectionTo } from './live-settings.ts'
import { progressOf } from './training-progress.ts'
import {
  giveUpEvaluation,
  loseEvaluation,
  receiveEvaluation,
  recordEvaluating,
} from './transitions/evaluations.ts'
import { receiveGroup, recordAdmissions } from './transitions/groups.ts'
import { followInstances } from './transitions/left-out.ts'
import { awaitEffect } from './transitions/orders.ts'
import { continueRun, pauseRun } from './transitions/phase.ts'
import { evaluationsLag, mayUpdate } from './transitions/pipeline.ts'
import { settleUpdate, skippedFor, startBatch } from './transitions/update.ts'
import { pin, recordVersion } from './transitions/versions.ts'

const run = runId('a-run-with-a-name-as-long-as-the-name-of-a-run-may-be-or-nearly')

function start(input: ConfigInput): TrainingState {
  return initialState(run, resolveConfig(input), 1_700_000_000_000)
}

function reportOf(state: TrainingState, number: number, episodes: number) {
  const version = state.inFlight.find((group) => group.number === number)?.version ?? 0
  const played = Array.from({ length: episodes }, (_, sample) => ({
    episode: `${run}/g${number}/s0/a0` as never,
    outcome: 'completed' as const,
    reward: sample % 2,
    success: true,
    turns: 3,
    actionTokens: 9,
    tokens: 30,
  }))
  return { group: groupId(run, number), number, taskIndex: 0, task: '', version, episodes: played }
}

/** One update with all that the workflow writes down of it. */
function update(state: TrainingState): void {
  const taken = startBatch(state)
  const figures = () => Object.fromEntries(state.config.tasks.map(({ task }) => [task, Math.random()]))
  settleUpdate(state, {
    groups: [...taken.map(({ number }) => number), ...skippedFor(state)].map((number) =>
      groupId(run, number),
    ),
    success: figures(),
    reward: figures(),
    samples: figures(),
    staleness: Math.random(),
    signal: { groups: 1, withPreference: 0, won: 0, lost: 0, unusable: Math.random(), cutOff: Math.random() },
    memberWeights: state.pool.map((version) => ({ version, weight: Math.random() })),
  })
  recordVersion(state, state.version + 1)
}

/** Every suite is evaluated. */
function evaluate(state: TrainingState): void {
  for (const { name: suite } of state.config.evaluation.suites)
    recordEvaluating(state, { suite, version: state.version })
}

function summaryOf(suite: string, version: number) {
  const passAt = Object.fromEntries([1, 2, 4, 8, 16, 32].map((k) => [k, Math.random()]))
  const interval = { low: 0.1, high: 0.9 }
  return { suite, version, success: Math.random(), n: 200, planned: 200, interval, passAt }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

function expectSmall(state: TrainingState): void {
  expect(bytesOf(state)).toBeLessThanOrEqual(mostStateBytes)
  expect(bytesOf(progressOf(state))).toBeLessThanOrEqual(mostStateBytes)
}

/** Long texts of all kinds of letters. */
const words = fc.string({ unit: 'grapheme', maxLength: 4_000 })

const configs: fc.Arbitrary<RunConfig | undefined> = fc
  .record({
    groupsPerUpdate: fc.integer({ min: 1, max: 600 }),
    refill: fc.constantFrom(0, 0.5, 2, 16),
    maxStaleness: fc.integer({ min: 0, max: 8 }),
    poolSize: fc.integer({ min: 0, max: 16 }),
    suites: fc.integer({ min: 0, max: 64 }),
    gates: fc.integer({ min: 0, max: 64 }),
    tasks: fc.integer({ min: 1, max: 64 }),
    settings: fc.string({ maxLength: 1_500 }),
  })
  .map(({ groupsPerUpdate, refill, maxStaleness, poolSize, suites, gates, tasks, settings }) => {
    try {
      return resolveConfig({
        rollout: { groupsPerUpdate, maxStaleness, refill },
        crossPolicy: { poolSize, refreshEvery: 1 },
        tasks: Array.from({ length: tasks }, (_, index) => ({
          task: `task-${index}`,
          settings: { settings },
        })),
        training: { updates: 1_000_000 },
        evaluation: {
          suites: Array.from({ length: suites }, (_, index) => ({ name: `suite_${index}`, task: 'task-0' })),
          gates: Array.from({ length: Math.min(suites, gates) }, (_, index) => ({ suite: `suite_${index}` })),
        },
      })
    } catch {
      return undefined // it asks for too much
    }
  })

describe('the state of a run', () => {
  // [STATE-2]
  it('is at most 64 KiB in any order of events, for any configuration that is accepted', () => {
    fc.assert(
      fc.property(
        configs,
        fc.array(fc.tuple(fc.nat({ max: 9 }), words), { maxLength: 60 }),
        (config, events) => {
          fc.pre(config !== undefined)
          if (config === undefined) return
          expect(largestState(config)).toBeLessThanOrEqual(mostStateBytes)
          const state = initialState(run, config, 1_700_000_000_000)
          followInstances(
            state,
            config.tasks.map(() => 1_000_000),
          )
          Object.assign(state, { version: 9_000_000, step: 900_000, nextGroup: 9_000_000 })
          for (const [event, text] of events) play(state, event, text)
          expectSmall(state)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('stays so over 100,000 updates with 20,000 evaluations, and knows the best and the latest of each suite', () => {
    const suites = Array.from({ length: 2 }, (_, index) => ({ name: `suite_${index}` }))
    const state = start({
      training: { updates: 1_000_000 },
      rollout: { groupsPerUpdate: 4 },
      evaluation: { suites },
    })
    let largest = 0
    for (let step = 1; step <= 100_000; step++) {
      recordAdmissions(state)
      for (const { number } of state.inFlight.slice(0, 4)) receiveGroup(state, reportOf(state, number, 8))
      update(state)
      const { version } = state
      if (step % 10 === 0) evaluate(state)
      for (const { suite } of state.evaluating)
        receiveEvaluation(state, { ...summaryOf(suite, version), success: step === 50_000 ? 1 : 0.5 })
      pin(state, version)
      if (step % 100 === 0) largest = Math.max(largest, bytesOf(state), bytesOf(progressOf(state)))
    }
    expect(largest).toBeLessThan(mostStateBytes / 4)
    const known = (suite: string) =>
      state.evaluations.filter((each) => each.suite === suite).map(({ version }) => version)
    for (const { name } of suites) expect(known(name)).toEqual([50_000, 99_990, 100_000])
  })
})

describe('a configuration that a run could not carry', () => {
  it.each([
    ['rollout.groupsPerUpdate', { rollout: { groupsPerUpdate: 4096 } }],
    ['tasks.1', { tasks: [{ task: 'alfworld' }, { task: 'kg', settings: { list: 'x'.repeat(70_000) } }] }],
    [
      'evaluation.suites',
      {
        evaluation: {
          suites: Array.from({ length: 64 }, (_, index) => ({ name: `s${index}_${'x'.repeat(36)}` })),
          gates: Array.from({ length: 64 }, (_, index) => ({ suite: `s${index}_${'x'.repeat(36)}` })),
        },
      },
    ],
  ] as const)('is refused at %s', (key, input) => {
    expect(() => resolveConfig(input as ConfigInput)).toThrow(expect.objectContaining({ key }))
  })

  it('is not reached by a live setting either', () => {
    const state = start({ rollout: { groupsPerUpdate: 128 } })
    expect(objectionTo(state, { 'rollout.maxStaleness': 2 })).toBeUndefined()
    expect(objectionTo(state, { 'rollout.maxStaleness': 20 })).toMatch(/rollout\.maxStaleness.*groups/)
    applySettings(state, { 'rollout.maxStaleness': 3 })
    recordAdmissions(state)
    expectSmall(state)
  })
})

describe('a text', () => {
  it('is cut to the bytes of its JSON, and left as it is where it fits', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 150 }),
        fc.integer({ min: 8, max: 150 }),
        (text, bytes) => {
          const cut = clipped(text, bytes)
          expect(bytesOf(cut)).toBeLessThanOrEqual(bytes)
          expect(jsonBytes(text)).toBe(bytesOf(text))
          if (bytesOf(text) <= bytes) expect(cut).toBe(text)
          else expect(bytesOf(cut)).toBeGreaterThan(bytes - 16)
        },
      ),
    )
  })
})

function orderOf(number: number, what: string, reason: string) {
  return {
    number,
    time: 1_700_000_000_000,
    by: reason,
    what,
    from: Math.random(),
    to: Math.random(),
    version: 9_000_000,
    effectVersion: null,
    reason,
  }
}

/** One event of those that change what is carried. */
function play(state: TrainingState, event: number, text: string): void {
  const [first] = state.inFlight
  const running = state.evaluating[0]
  if (event <= 1) recordAdmissions(state)
  else if (event === 2)
    for (const { number } of [...state.inFlight])
      receiveGroup(state, reportOf(state, number, 1 + (number % 3)))
  else if (event === 3) {
    continueRun(state)
    if (mayUpdate(state)) {
      update(state)
      evaluate(state)
    }
  } else if (event === 4) {
    if (first !== undefined) receiveGroup(state, reportOf(state, first.number, 0))
  } else if (event === 5) {
    for (const each of state.evaluating.slice(1))
      loseEvaluation(state, each, { lost: 3, waits: 'to_be_given_up' })
    if (running !== undefined) receiveEvaluation(state, summaryOf(running.suite, running.version))
  } else if (event === 6) {
    for (let each = 0; each < 20; each++) receiveEvaluation(state, summaryOf(`suite_0-${each}x${each}`, each))
  } else if (event === 7) {
    if (running !== undefined) giveUpEvaluation(state, { ...running, reason: text })
  } else if (event === 8) {
    for (let version = 0; version < 100; version++) pin(state, state.version - version)
    applySettings(state, { 'learning.learningRate': Math.random(), 'learning.clipLow': Math.random() })
    for (const gate of state.config.evaluation.gates.keys())
      applySettings(state, { [`evaluation.gates.${gate}.drop`]: Math.random() })
  } else {
    const keys = ['learning.learningRate', 'learning.clipLow', 'rollback', 'learning.weightDecay']
    for (const [index, what] of keys.entries()) awaitEffect(state, orderOf(index, what, text))
    pauseRun(state, text)
  }
  if (evaluationsLag(state) && mayUpdate(state)) throw new RangeError('it continues though evaluations lag')
}
