import { ActivityFailure, type ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { failureOf } from '../../activities/calls/failure.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { TrainerFault } from '../../policy/trainer/trainer.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import { retryOnFileFaults } from './file-fault-retry.ts'

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

describe('work that a file fault has stopped', () => {
  it.each([
    new StorageFault('disk_full', 'no room'),
    new StorageFault('locked', 'another process holds it'),
    new CheckpointFault('io', 'no room'),
    new TrainerFault('storage', 'no room'),
  ])('is begun again until a person has repaired it: $name $kind', async (fault) => {
    expect(await retryOnFileFaults(failing(3, fault))).toBe('done at the call 4')
  })

  it.each([
    new StorageFault('corrupt', 'damaged'),
    new CheckpointFault('missing', 'not there'),
    new TrainerFault('crashed', 'no memory'),
    new Error('anything else'),
  ])('fails at once of what waiting does not repair: $name $kind', async (fault) => {
    await expect(retryOnFileFaults(failing(1, fault))).rejects.toBeInstanceOf(ActivityFailure)
  })
})
