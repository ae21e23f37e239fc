import { expect, test } from 'vitest'
import { resolveConfig } from '../config/files/loader.ts'
import { runId } from '../identity/identity.ts'
import { applySettings, settingsNow } from '../workflows/state/live-settings.ts'
import { changeConfiguration } from '../workflows/state/transitions/settings.ts'
import { gatesInForce } from './gate-settings.ts'
import { initialState, type TrainingState } from './training-state.ts'

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

test('a run of a release without gates has none', () => {
  const { gates: _, ...evaluation } = config.evaluation
  const earlier = { config: { ...config, evaluation: evaluation as typeof config.evaluation } }
  expect(gatesInForce(earlier)).toEqual([])
})
