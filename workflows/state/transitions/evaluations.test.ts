import { expect, it } from 'vitest'
import { resolveConfig } from '../../../config/files/loader.ts'
import { initialState } from '../../../contract/training-state.ts'
import { runId } from '../../../identity/identity.ts'
import { beginEvaluation, loseEvaluation, receiveEvaluation, recordEvaluating } from './evaluations.ts'

it('an evaluation that was lost waits until another execution of it begins, and the others do not', () => {
  const state = structuredClone(initialState(runId('lost'), resolveConfig({}), 0))
  const [one, other] = [
    { suite: 'few', version: 1 },
    { suite: 'few', version: 2 },
  ]
  recordEvaluating(state, one)
  recordEvaluating(state, other)
  loseEvaluation(state, one, { lost: 1, waits: 'for_another' })
  expect(state.evaluating).toEqual([{ ...one, lost: 1, waits: 'for_another' }, other])
  beginEvaluation(state, one)
  expect(state.evaluating).toEqual([{ ...one, lost: 1 }, other])
})

it('an incomplete result gives way to that of a repetition, and a complete one remains', () => {
  const suites = [{ name: 'few', task: 'alfworld', episodes: 40 }]
  const state = structuredClone(initialState(runId('again'), resolveConfig({ evaluation: { suites } }), 0))
  const lucky = { suite: 'few', version: 1, success: 1, n: 5, planned: 40 }
  const whole = { ...lucky, success: 0.25, n: 40 }
  expect(receiveEvaluation(state, lucky)).toBe(true)
  expect(receiveEvaluation(state, whole)).toBe(true)
  expect(state.evaluations).toEqual([whole])
  expect(receiveEvaluation(state, lucky)).toBe(false)
  expect(state.evaluations).toEqual([whole])
})

it('the latest complete result of a suite is carried beyond those that are incomplete', () => {
  const suites = [{ name: 'few', task: 'alfworld', episodes: 40 }]
  const state = structuredClone(initialState(runId('carried'), resolveConfig({ evaluation: { suites } }), 0))
  const figure = { suite: 'few', planned: 40 }
  receiveEvaluation(state, { ...figure, version: 0, success: 0.5, n: 40 })
  receiveEvaluation(state, { ...figure, version: 1, success: 0.25, n: 40 })
  for (const version of [2, 3, 4]) receiveEvaluation(state, { ...figure, version, success: 1, n: 5 })
  expect(state.evaluations.map(({ version }) => version)).toEqual([0, 1, 3, 4])
})
