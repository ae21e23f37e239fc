import { expect, it } from 'vitest'
import { configSchema } from '../../../config/schema/schema.ts'
import { initialState } from '../../../contract/training-state.ts'
import { runId } from '../../../identity/identity.ts'
import { giveUpEvaluation, receiveEvaluation, recordEvaluating } from './evaluations.ts'
import { mayUpdate } from './pipeline.ts'

const run = runId('pipeline')
const suite = 'alfworld'

/** A run that has the groups of its next update. */
function readyToUpdate(evaluation: object) {
  const config = configSchema.parse({ rollout: { groupsPerUpdate: 1 }, evaluation })
  const ready = [{ number: 0, version: 0 }]
  return { ...initialState(run, config, 1), ready }
}

// [RUN-5]
it('an update waits for evaluations only where they block, until each has a result or is given up', () => {
  const free = readyToUpdate({})
  recordEvaluating(free, { suite, version: 0 })
  expect(mayUpdate(free)).toBe(true)
  const blocked = readyToUpdate({ blocking: true })
  expect(mayUpdate(blocked)).toBe(true)
  recordEvaluating(blocked, { suite, version: 0 })
  recordEvaluating(blocked, { suite: 'other', version: 0 })
  expect(mayUpdate(blocked)).toBe(false)
  receiveEvaluation(blocked, { suite, version: 0, success: 1, n: 1, planned: 1 })
  expect(mayUpdate(blocked)).toBe(false)
  giveUpEvaluation(blocked, { suite: 'other', version: 0, reason: 'lost' })
  expect(mayUpdate(blocked)).toBe(true)
})
