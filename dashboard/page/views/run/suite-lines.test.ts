import { expect, test } from 'vitest'
import type { RunCurves } from '../../../contract/curves.ts'
import { drawnMeasures } from '../../../contract/drawn-measures.ts'
import { type FoundEvaluation, isFound, suiteLines } from './suite-lines.ts'

/** Three updates; after the second the run was rolled back, so that version 3 belongs to step 2. */
const curves = {
  step: [1, 2, 3],
  version: [1, 2, 4],
  time: [1000, 2000, 3000],
  tokensSoFar: [10, 20, 30],
  created: 0,
} as unknown as RunCurves

function evaluated(version: number, step: number, value: number): FoundEvaluation {
  const success = { value, low: value - 0.1, high: value + 0.1 }
  const found = { success, n: 100, planned: 100, lost: {}, instances: 100, means: [], passAt: {} }
  return { id: `r/e-few-v${version}-1`, suite: 'few', version, step, seed: 1, created: 0, found }
}

const [measure = expect.fail('no success')] = drawnMeasures([])
const drawn = { curves, axisName: 'updates', colour: 'var(--series-0)', measure } as const
const expert = { suite: 'few', success: { value: 0.9, low: 0.8, high: 1 }, n: 300 }

// [SUITE-LINES-1]
test('the warm start and the expert are level lines beside what the run reaches', () => {
  const { axis, series } = suiteLines([evaluated(0, 0, 0.3), evaluated(4, 3, 0.6)], expert, drawn)
  expect(axis.values).toEqual([0, 3])
  expect(series.map(({ label, values }) => [label, values])).toEqual([
    ['with reinforcement learning', [0.3, 0.6]],
    ['warm start alone', [0.3, 0.3]],
    ['the expert', [0.9, 0.9]],
  ])
})

// [SUITE-LINES-1]
test('what was not measured has no line', () => {
  const { series } = suiteLines([evaluated(4, 3, 0.6)], undefined, drawn)
  expect(series.map(({ label }) => label)).toEqual(['with reinforcement learning'])
})

// [SUITE-LINES-2]
test('a version after a roll-back is placed at the step of the one before it, with a point of its own', () => {
  const rows = [evaluated(3, 2, 0.3), evaluated(2, 2, 0.2), evaluated(0, 0, 0.3), evaluated(3, 2, 0.4)]
  const { axis, series } = suiteLines(rows, undefined, { ...drawn, axisName: 'tokens' })
  // The third update comes after 30 tokens, and no version of it was evaluated.
  expect(axis.values).toEqual([0, 20, 20, 30])
  expect(series[0]?.values).toEqual([0.3, 0.2, 0.4, null])
  expect(series[1]?.values).toEqual([0.3, 0.3, 0.3, 0.3])
})

// [SUITE-LINES-3]
test('an evaluation that lost more than 5 % of its episodes has no point', () => {
  const whole = evaluated(1, 1, 0.4)
  const lossy = (n: number) => ({ ...whole, found: { ...whole.found, n } })
  expect([whole, lossy(95), lossy(94)].map(isFound)).toEqual([true, true, false])
})

test('a suite has a curve of its success, of its measure and of each metric, with name, unit and interval [DRAWN-MEASURES-1]', () => {
  const turns = { of: 'turns', better: 'lower', value: 3, low: 2, high: 4 } as const
  const score = { of: 'score', better: 'higher', unit: 'points', value: 40, low: 35, high: 45 } as const
  const reward = { of: 'reward', better: 'higher', value: 1, low: 1, high: 1 } as const
  const judged = (version: number, step: number): FoundEvaluation => {
    const row = evaluated(version, step, 0.5)
    return { ...row, found: { ...row.found, measured: turns, means: [reward, turns, score] } }
  }
  const rows = [judged(0, 0), evaluated(4, 3, 0.6)]
  const measures = drawnMeasures(rows.map(({ found }) => found))
  expect(measures.map((each) => [each.titleOn('few'), each.write(0.5)])).toEqual([
    ['Success on few', '50 %'],
    ['Turns on few', '0.5'],
    ['Score on few, points', '0.5 points'],
  ])
  const [, , third = expect.fail('no metric')] = measures
  const { series } = suiteLines(rows, expert, { ...drawn, measure: third })
  // The version without the metric has no point, and the expert is measured by success alone.
  expect(series.map(({ label, values, low, high }) => [label, values, low, high])).toEqual([
    ['with reinforcement learning', [40, null], [35, null], [45, null]],
    ['warm start alone', [40, 40], undefined, undefined],
  ])
})
