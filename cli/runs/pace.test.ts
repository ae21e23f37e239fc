/** Pace of a watched run. */
import { expect, test } from 'vitest'
import type { RunProgress } from '../../client/session/training-session.ts'
import { PaceMeter } from './pace.ts'

function at(step: number, tokens: number, phase: RunProgress['phase'] = 'training'): RunProgress {
  const counters = { episodesInFlight: 0, groupsInFlight: 0, groupsReady: 0, staleness: 0, episodes: 0 }
  return {
    run: 'r',
    phase,
    version: step,
    step,
    updates: 10,
    tokens,
    success: {},
    reward: {},
    samples: {},
    evaluations: [],
    emptyUpdates: 0,
    startedAt: 0,
    ...counters,
  }
}

test('no rate comes from one observation', () => {
  expect(new PaceMeter().observe(at(0, 100), 0)).toEqual({
    tokensPerSecond: undefined,
    secondsLeft: undefined,
  })
})

test('tokens per second are those of the last half minute', () => {
  const meter = new PaceMeter()
  meter.observe(at(0, 0), 0)
  meter.observe(at(0, 1000), 10_000)
  // From 10 s to 40 s: (7000 − 1000) / 30 s.
  expect(meter.observe(at(0, 7000), 40_000).tokensPerSecond).toBe(200)
})

test('time left is the rest of the updates at their mean length', () => {
  const meter = new PaceMeter()
  meter.observe(at(2, 0), 0)
  meter.observe(at(3, 0), 20_000)
  // Two updates took 40 s: 20 s each; six are left.
  expect(meter.observe(at(4, 0), 40_000).secondsLeft).toBe(120)
  // 5 s later, 5 s less.
  expect(meter.observe(at(4, 0), 45_000).secondsLeft).toBe(115)
})

test('the first update of a run is not taken for the pace of the others', () => {
  const meter = new PaceMeter()
  meter.observe(at(0, 0), 0)
  expect(meter.observe(at(1, 0), 90_000).secondsLeft).toBeUndefined()
  expect(meter.observe(at(2, 0), 100_000).secondsLeft).toBe(80)
})

test('nothing is said of the time left before an update ended, or outside of training', () => {
  const meter = new PaceMeter()
  meter.observe(at(0, 0), 0)
  expect(meter.observe(at(0, 0), 60_000).secondsLeft).toBeUndefined()
  meter.observe(at(1, 0), 70_000)
  expect(meter.observe(at(1, 0, 'paused'), 71_000).secondsLeft).toBeUndefined()
})
