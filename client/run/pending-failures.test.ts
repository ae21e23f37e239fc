import { expect, it } from 'vitest'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { pendingFailures } from './pending-failures.ts'

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
