import { ActivityFailure, type ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { failureOf } from '../activities/failure.ts'
import { CheckpointFault } from '../policy/checkpoints/checkpoint-fault.ts'
import { TrainerFault } from '../policy/trainer/trainer.ts'
import { StorageFault } from '../storage/fault.ts'
import { patiently } from './patience.ts'

/** Fails so often, as an activity does whose attempts are used up. */
function failing(times: number, fault: Error) {
  let calls = 0
  return async () => {
    calls += 1
    if (calls > times) return `done at the call ${calls}`
    throw new ActivityFailure(
      'Activity task failed',
      'updatePolicy',
      '1',
      'MAXIMUM_ATTEMPTS_REACHED',
      undefined,
      failureOf(fault) as ApplicationFailure,
    )
  }
}

describe('patience', () => {
  it.each([
    new StorageFault('disk_full', 'no room'),
    new StorageFault('locked', 'somebody holds it'),
    new CheckpointFault('io', 'no room'),
    new TrainerFault('storage', 'no room'),
  ])('waits for what a person can mend: $name $kind', async (fault) => {
    expect(await patiently(failing(3, fault))).toBe('done at the call 4')
  })

  it.each([
    new StorageFault('corrupt', 'damaged'),
    new CheckpointFault('missing', 'not there'),
    new TrainerFault('crashed', 'no memory'),
    new Error('anything else'),
  ])('passes on what waiting does not mend: $name $kind', async (fault) => {
    await expect(patiently(failing(1, fault))).rejects.toBeInstanceOf(ActivityFailure)
  })
})
