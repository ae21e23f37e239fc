import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { expect, it, test } from 'vitest'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { EngineFault } from '../../policy/engines/engine.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { TrainerFault } from '../../policy/trainer/trainer.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import { failing, failureOf } from './failure.ts'

test('a fault leaves an activity under its name, with its kind, and is tried again unless that cannot help', () => {
  // Histories hold these names.
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

let works = 0

/** Whether each failure of one work is tried again. */
async function retried(...errors: readonly Error[]): Promise<readonly boolean[]> {
  const workflowExecution = { workflowId: 'maze', runId: '1' }
  const context = { info: { activityId: String(++works), workflowExecution } } as Context
  const found: boolean[] = []
  for (const error of errors) {
    const { update } = failing({ update: async (_: object) => Promise.reject(error) })
    await asyncLocalStorage
      .run(context, () => update({}))
      .catch((failure) => found.push(!failure.nonRetryable))
  }
  return found
}

const broken = (file: string) =>
  new TrainerFault('bad_answer', `the checkpoint that the trainer wrote cannot be used: ${file} is torn`)

it('[REPEATED-1] a rule that is broken twice in the same words ends the work, and other words do not', async () => {
  expect(await retried(broken('/a/.7.3f9c01-x.partial'), broken('/a/.7.88aa02-x.partial'))).toEqual([
    true,
    false,
  ])
  expect(await retried(broken('weights'), broken('state'), broken('weights'))).toEqual([true, true, true])
})

it('a command that ends by itself in the same words is given up, one that was killed is not', async () => {
  const ended = (how: string) => new TrainerFault('crashed', `the trainer python3 ended with ${how}`)
  expect(await retried(ended('code 1'), ended('code 1'))).toEqual([true, false])
  expect(await retried(ended('SIGKILL'), ended('SIGKILL'), ended('SIGKILL'))).toEqual([true, true, true])
})

it('an error of code is given up the second time, what an environment throws the third time', async () => {
  const wrong = new TypeError('x is not a function')
  expect(await retried(wrong, wrong)).toEqual([true, false])
  const thrown = new EnvironmentFault('failed', 'reset of maze on train/7 failed: no board')
  expect(await retried(thrown, thrown, thrown)).toEqual([true, true, false])
})

it('a disk or a server is waited for, however often it fails', async () => {
  const full = new StorageFault('disk_full', 'no room')
  const away = new EnvironmentFault('backend', 'no answer')
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  for (const error of [full, away, refused])
    expect(await retried(error, error, error)).toEqual([true, true, true])
})
