import { expect, it } from 'vitest'
import { resolveConfig } from '../../config/loader.ts'
import { runId } from '../../identity/identity.ts'
import { initialState } from '../training-state.ts'
import { beginEvaluation, enterEvaluation, loseEvaluation } from './evaluations.ts'

it('an evaluation that was lost waits until another execution of it begins, and the others do not', () => {
  const state = structuredClone(initialState(runId('lost'), resolveConfig({}), 0))
  const [one, other] = [
    { suite: 'few', version: 1 },
    { suite: 'few', version: 2 },
  ]
  enterEvaluation(state, one)
  enterEvaluation(state, other)
  loseEvaluation(state, one, { lost: 1, waits: 'for_another' })
  expect(state.evaluating).toEqual([{ ...one, lost: 1, waits: 'for_another' }, other])
  beginEvaluation(state, one)
  expect(state.evaluating).toEqual([{ ...one, lost: 1 }, other])
})
