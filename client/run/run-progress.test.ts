import { expect, it } from 'vitest'
import { resolveConfig } from '../../config/files/loader.ts'
import { initialState, type TrainingState } from '../../contract/training-state.ts'
import { runId } from '../../identity/identity.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { progressOf } from '../../workflows/state/training-progress.ts'
import { createRunsProgress, pendingFailures } from './run-progress.ts'

const config = resolveConfig({})
const stored: TrainingState = { ...initialState(runId('first'), config, 0), phase: 'warm_start', step: 2 }

/** Looks at a run whose workflow gives these answers, an error in place of the ones that come too late. */
function lookerAt(answers: Partial<TrainingState | Error>[], last: TrainingState = stored) {
  const { ownProgress } = createRunsProgress({
    known: async () => ({ config }),
    lastState: async () => last,
    ask: async () => {
      const answer = answers.shift()
      if (answer === undefined || answer instanceof Error) throw answer
      return progressOf({ ...stored, ...answer })
    },
  } as never)
  return async () => {
    const { phase, step } = await ownProgress('first')
    return `${phase} ${step}`
  }
}

const late = () => Object.assign(new Error('deadline'), { code: 4 })

it('[RESULT-3] a look that the busy server does not answer in time shows what the run answered last', async () => {
  const look = lookerAt([late(), { phase: 'training', step: 2 }, late()])
  expect([await look(), await look(), await look()]).toEqual(['warm_start 2', 'training 2', 'training 2'])
})

it('what the run has stored since its last answer counts, and its end does', async () => {
  const behind = lookerAt([{ phase: 'training', step: 1 }, late()])
  expect([await behind(), await behind()]).toEqual(['training 1', 'warm_start 2'])
  const ended = lookerAt([{ phase: 'training', step: 2 }, late()], { ...stored, phase: 'done' })
  expect([await ended(), await ended()]).toEqual(['training 2', 'done 2'])
  const resumed = lookerAt([{ phase: 'done', step: 2 }, late()])
  expect([await resumed(), await resumed()]).toEqual(['done 2', 'warm_start 2'])
})

function described(...pendingActivities: readonly object[]) {
  return async () => ({ raw: { pendingActivities } }) as never
}

it('[RESULT-2] an activity in its second attempt is named with the reason of the first', async () => {
  const waiting = { activityType: { name: 'publishVersion' }, attempt: 1 }
  const failing = {
    ...{ activityType: { name: 'updatePolicy' }, attempt: 2 },
    lastFailure: { message: 'activity Heartbeat timeout' },
  }
  expect(await pendingFailures(described(waiting, failing))).toEqual([
    { work: 'updatePolicy', reason: 'activity Heartbeat timeout', attempt: 1 },
  ])
})

it('a worker that stops is no failure, and a silent server no reason to fail', async () => {
  const stopping = {
    ...{ activityType: { name: 'updatePolicy' }, attempt: 2 },
    lastFailure: { message: 'stops', applicationFailureInfo: { type: 'WorkerStopping' } },
  }
  expect(await pendingFailures(described(stopping))).toEqual([])
  expect(await pendingFailures(async () => undefined)).toEqual([])
  const silent = () => Promise.reject(new TemporalFault('unreachable', 'no answer'))
  expect(await pendingFailures(silent)).toEqual([])
})
