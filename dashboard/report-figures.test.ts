import { expect, test } from 'vitest'
import type { RunCurves } from './contract/curves.ts'
import type { EvaluationRow } from './contract/evaluation.ts'
import { figuresOf } from './report-figures.ts'

function evaluated(suite: string, version: number, value: number): EvaluationRow {
  const found = {
    success: { value, low: value - 0.1, high: value + 0.1 },
    n: 10,
    planned: 10,
    lost: {},
    instances: 10,
    meanReward: value,
    passAt: {},
  }
  return { id: `r/e-${suite}-v${version}-1`, suite, version, step: version, seed: 1, created: 0, found }
}

const none = { version: [], tasks: {} } as unknown as RunCurves

// [REPORT-FIGURES-1]
test('each suite has a picture of its versions in order, with the expert beside the policy', () => {
  const evaluations = [
    evaluated('held_out', 20, 0.5),
    evaluated('held_out', 0, 0.3),
    evaluated('other', 0, 0.2),
  ]
  const experts = [{ suite: 'held_out', success: { value: 0.9, low: 0.8, high: 1 }, n: 10 }]
  const figures = figuresOf('first', { evaluations, experts, gates: [] }, none)
  expect(figures.map(({ name }) => name)).toEqual(['success-held_out.svg', 'success-other.svg'])
  expect(figures[0]?.svg).toContain('policy: 30.0 % at version 0, 50.0 % at version 20')
  expect(figures[0]?.svg).toContain('the expert: 90.0 % at version 0, 90.0 % at version 20')
  expect(figures[1]?.svg).not.toContain('the expert')
})

test('success in training is drawn by task, where an update has one', () => {
  const success = {
    success: [0.25, null, 0.5],
    success_low: [0.2, null, 0.4],
    success_high: [0.3, null, 0.6],
  }
  const curves = { version: [1, 2, 3], tasks: { db: success } } as unknown as RunCurves
  const [figure] = figuresOf('first', { evaluations: [], experts: [], gates: [] }, curves)
  expect(figure?.name).toBe('success-in-training.svg')
  expect(figure?.svg).toContain('db: 25.0 % at version 1, 50.0 % at version 3')
})

test('a run without figures has no picture', () => {
  expect(figuresOf('first', { evaluations: [], experts: [], gates: [] }, none)).toEqual([])
})
