import { describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { initialState, type TrainingState } from '../../contract/training-state.ts'
import { runId } from '../../identity/identity.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import { relaunchedState, stateToRestartFrom, stateToResumeFrom } from './run-state.ts'

const run = runId('state')
const config = configSchema.parse({
  tasks: [{ task: 'alfworld' }],
  evaluation: { every: 2, suites: [{ name: 'held_out', task: 'alfworld', episodes: 2 }] },
})
const ready = (number: number) => ({ number, version: 3 })

/** After update 4, with two orders taken. */
const stored: TrainingState = {
  ...initialState(run, config, 0),
  phase: 'training',
  warmStart: { done: 1, total: 1 },
  version: 4,
  step: 4,
  orders: 2,
  training: [ready(8)],
  ready: [ready(9)],
  message: 'a fault of long ago',
}

function order(
  number: number,
  what: string,
  to: AuditEntry['to'],
  more: Partial<AuditEntry> = {},
): AuditEntry {
  return {
    number,
    time: 0,
    by: 'ada',
    what,
    from: null,
    to,
    version: 4,
    effectVersion: 4,
    reason: null,
    ...more,
  }
}

describe('the state with which a run continues', () => {
  it('a batch that was in progress is taken again, and what was in flight is looked for first', () => {
    for (const state of [stateToResumeFrom(stored, config, []), stateToRestartFrom(stored, config, [])]) {
      expect(state).toMatchObject({ reattach: true, training: [], ready: [ready(8), ready(9)] })
      expect(state).not.toHaveProperty('message')
    }
  })

  it('a run that was paused or stopped continues when it is resumed', () => {
    const ended = { ...stored, paused: true, pauseReason: 'lunch', stopRequested: true, stopNow: true }
    const trail = [order(2, 'tasks.0.weight', 7), order(3, 'pause', 'paused'), order(4, 'stop', 'now')]
    for (const state of [stateToResumeFrom(ended, config, []), stateToResumeFrom(stored, config, trail)])
      expect(state).toMatchObject({
        paused: false,
        pauseReason: null,
        stopRequested: false,
        stopNow: false,
      })
    expect(stateToResumeFrom(stored, config, trail)).toMatchObject({ weights: [7], orders: 5 })
    expect(stateToRestartFrom(ended, config, [])).toMatchObject({ paused: true, stopRequested: true })
  })

  it('an order that was taken after the state was stored holds in the new execution too, under its number', () => {
    const later = order(3, 'learning.learningRate', 0.5, { effectVersion: null })
    const state = stateToRestartFrom(stored, config, [
      order(1, 'rollout.maxStaleness', 9), // in the state already, and changed since
      order(2, 'tasks.0.weight', 7),
      later,
      order(4, 'checkpoint', 4),
      order(5, 'rollback', 2, { effectVersion: null }),
      order(6, 'evaluate', 'held_out', { version: 3 }),
      order(7, 'pause', 'paused', { reason: 'lunch' }),
      order(1_000_000_000, 'promote', 4),
    ])
    expect(state).toMatchObject({
      orders: 8,
      weights: [7],
      rollout: {},
      learning: { learningRate: 0.5 },
      pinned: [4],
      rollBackTo: 2,
      paused: true,
      pauseReason: 'lunch',
      stopRequested: false,
    })
    expect(state.unsettled.map(({ number }) => number)).toEqual([3, 5])
    expect(state.evaluating).toContainEqual({ suite: 'held_out', version: 3 })
    const trail = [order(2, 'pause', 'paused'), order(3, 'continue', 'training'), order(4, 'stop', 'now')]
    expect(stateToRestartFrom(stored, config, trail)).toMatchObject({
      paused: false,
      stopRequested: true,
      stopNow: true,
    })
    expect(stored).toMatchObject({ orders: 2, unsettled: [], pinned: [], weights: [1] })
  })

  it('evaluations that were started after it was stored are heard of in the new execution', () => {
    const due = { suite: 'held_out', version: 4 }
    const found = { ...due, success: 1, n: 2, planned: 2 }
    for (const next of [stateToRestartFrom, stateToResumeFrom]) {
      expect(next(stored, config, []).evaluating).toEqual([due])
      expect(next({ ...stored, evaluating: [due] }, config, []).evaluating).toEqual([due])
      expect(next({ ...stored, evaluations: [found] }, config, []).evaluating).toEqual([])
      expect(next({ ...stored, step: 5 }, config, []).evaluating).toEqual([])
      const begun = { ...stored, warmStart: { done: 0, total: 1 }, step: 0 }
      expect(next(begun, config, []).evaluating).toEqual([])
    }
  })

  it('a restart is in the audit trail, and pauses the run where it happened again and again', () => {
    const reason = 'its history does not replay'
    const once = relaunchedState(stored, { reason, paused: false }, 7)
    expect(once.state).toEqual({ ...stored, orders: 3 })
    expect(once.entries).toMatchObject([{ number: 2, time: 7, by: 'takeover', what: 'restart', reason }])
    const often = relaunchedState(stored, { reason, paused: true }, 7)
    expect(often.state).toMatchObject({ orders: 4, paused: true, phase: 'paused' })
    expect(often.state.pauseReason).toMatch(reason)
    expect(often.entries.map(({ number, what }) => [number, what])).toEqual([
      [2, 'restart'],
      [3, 'pause'],
    ])
    // The process may end before the new execution starts: the next one reads the same from the trail.
    for (const { entries, state } of [once, often]) {
      const { orders, paused, weights, learning } = state
      expect(stateToRestartFrom(stored, config, entries)).toMatchObject({ orders, paused, weights, learning })
    }
  })
})
