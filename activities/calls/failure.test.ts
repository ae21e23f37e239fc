import { ApplicationFailure } from '@temporalio/common'
import { expect, test } from 'vitest'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { EngineFault } from '../../policy/engines/engine.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { TrainerFault } from '../../policy/trainer/trainer.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import { failureOf } from './failure.ts'

test('a fault leaves an activity under its name, with its kind, and is tried again unless that cannot help', () => {
  // Histories of earlier releases hold these names.
  const faults = [
    [new EnvironmentFault('session_lost', 'lost'), 'EnvironmentFault', false],
    [new EnvironmentFault('bad_data', 'bad'), 'EnvironmentFault', true],
    [new EngineFault('crashed', 'crashed'), 'EngineFault', false],
    [new EngineFault('context_too_long', 'long'), 'EngineFault', true],
    [new TrainerFault('storage', 'full'), 'TrainerFault', false],
    [new TrainerFault('not_finite', 'NaN'), 'TrainerFault', true],
    [new CheckpointFault('io', 'refused'), 'CheckpointFault', false],
    [new CheckpointFault('corrupt', 'torn'), 'CheckpointFault', true],
    [new StorageFault('disk_full', 'full'), 'StorageFault', false],
    [new StorageFault('conflict', 'other'), 'StorageFault', true],
  ] as const
  for (const [fault, type, nonRetryable] of faults)
    expect(failureOf(fault)).toMatchObject({
      ...{ type, nonRetryable, message: fault.message, cause: fault },
      details: [{ kind: fault.kind }],
    })
})

test('what is no fault is tried again under its own name, and a failure of Temporal stays what it is', () => {
  expect(failureOf(new RangeError('too far'))).toMatchObject({ type: 'RangeError', nonRetryable: false })
  expect(failureOf('words')).toMatchObject({ type: 'Error', message: 'words', nonRetryable: false })
  const failure = ApplicationFailure.nonRetryable('no', 'Refused')
  expect(failureOf(failure)).toBe(failure)
})
