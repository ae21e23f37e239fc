import { expect, test } from 'vitest'
import { createTrainer } from '../policy/trainer/embedded.ts'
import { createTrainers, type TrainerSettings } from './trainers.ts'

const embedded = (threads: number): TrainerSettings => ({
  threads,
  trainer: 'embedded',
  trainerStallSeconds: 900,
})

test('runs that ask for the same number of threads share a trainer, others have their own', async () => {
  const asked: number[] = []
  const trainers = createTrainers(({ threads }) => {
    asked.push(threads)
    return createTrainer({ threads })
  })
  expect(asked).toEqual([])
  const two = trainers.of(embedded(2))
  expect(trainers.of(embedded(2))).toBe(two)
  expect(trainers.of(embedded(16))).not.toBe(two)
  expect(trainers.of({ ...embedded(2), trainer: ['python3'] })).not.toBe(two)
  expect(asked).toEqual([2, 16, 2])
  await trainers.closeAll()
})

test('closing closes those that were made', async () => {
  const trainers = createTrainers()
  const trainer = trainers.of(embedded(1))
  await trainers.closeAll()
  const read = { tokens: new Int32Array(), offsets: new Int32Array(), lossMask: new Uint8Array() }
  await expect(
    trainer.logprobs({ ...read, checkpointDir: 'nowhere', temperature: 1, microBatchTokens: 64 }),
  ).rejects.toThrow('the trainer is closed')
})
