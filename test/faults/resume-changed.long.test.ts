/** A run that continues with another configuration: what may change, and that it is in the trail. */
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, expect, it } from 'vitest'
import { type RunChange, runChangeOf } from '../../client/run/run-change.ts'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import type { ConfigFault } from '../../config/files/fault.ts'
import { runId } from '../../identity/identity.ts'
import { type Trainer, TrainerFault } from '../../policy/trainer/trainer.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createSpeakingEngine,
  openTinySession,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask()
const opened: TrainingSession[] = []

async function session(): Promise<TrainingSession> {
  const one = await openTinySession(home, definition)
  opened.push(one)
  return one
}

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})
afterAll(() => removeHome(home))

async function changeOf(run: string, ...set: readonly string[]): Promise<RunChange | undefined> {
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  return await runChangeOf({ store, home: homeAt(home), own: [definition] }, runId(run), set)
}

const stepsOf = (run: string) =>
  readMetrics(homeAt(home).run(runId(run)).metricsFile)
    .filter(isUpdateMetrics)
    .map(({ step }) => step)

it('a run that is done continues with more updates, and its trail and metrics continue with it', async () => {
  const training = await session()
  await training.start('longer', tinyConfig({ training: { updates: 2 } }))
  expect(await training.result('longer')).toMatchObject({ phase: 'done', step: 2 })
  await expect(changeOf('longer', 'learning.learningRate=0.5')).rejects.toThrow(/training\.updates/)
  const change = await changeOf('longer', 'training.updates=4', 'learning.learningRate=0.5')
  await training.resume('longer', change)
  expect(await training.result('longer')).toMatchObject({ phase: 'done', step: 4, updates: 4 })
  expect(stepsOf('longer')).toEqual([1, 2, 3, 4])
  const trail = await training.audit('longer')
  expect(trail.map(({ what, from, to, effectVersion }) => ({ what, from, to, effectVersion }))).toEqual([
    { what: 'learning.learningRate', from: 0.0003, to: 0.5, effectVersion: 2 },
    { what: 'training.updates', from: 2, to: 4, effectVersion: 2 },
  ])
  // Resumed once more it is left as it is.
  await training.resume('longer')
  expect(await training.progress('longer')).toMatchObject({ phase: 'done', step: 4 })
})

// [PUBLISHED-1]
it('a run that was killed between a publication and its metrics line has the line once it continues', async () => {
  const killed = await session()
  await killed.start('holed', tinyConfig({ training: { updates: 2 } }))
  await killed.result('holed')
  await killed.close()
  const database = new DatabaseSync(homeAt(home).storeFile)
  database.prepare("delete from metrics where run = 'holed' and key = 'step 2'").run()
  database.close()
  const training = await session()
  await training.resume('holed', await changeOf('holed', 'training.updates=3'))
  await training.result('holed')
  expect(stepsOf('holed')).toEqual([1, 2, 3])
})

it('a run that failed at its warm start continues without one', async () => {
  const trainer: Trainer = {
    ...createCopyingTrainer(),
    warmStart: () => Promise.reject(new TrainerFault('bad_batch', 'there is nothing to imitate')),
  }
  const training = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => trainer,
    findEnvironment: () => definition,
  })
  opened.push(training)
  await training.start('naked', tinyConfig({ warmStart: { demonstrations: 8 } }))
  await expect(training.result('naked')).rejects.toThrow(/nothing to imitate/)
  await training.resume('naked', await changeOf('naked', 'warmStart.demonstrations=0'))
  expect(await training.result('naked')).toMatchObject({ phase: 'done', step: 3 })
})

it('a run that was interrupted continues with the change from where it was', async () => {
  const first = await session()
  await first.start('cut', tinyConfig({ training: { updates: 5000 } }))
  await eventually('an update', async () => ((await first.progress('cut')).step > 0 ? true : undefined))
  await first.close()
  opened.splice(0)
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  const { step = 0 } = (await store.updates.latest(runId('cut'))) ?? {}
  const updates = step + 3
  const change = await changeOf('cut', `training.updates=${updates}`)
  const second = await session()
  await second.resume('cut', change)
  const ending = await second.result('cut')
  expect(ending.phase).toBe('done')
  // Its workers may have done some before the change was taken.
  expect(ending.step).toBeGreaterThanOrEqual(updates)
  expect(ending.step).toBeLessThan(5000)
  expect(stepsOf('cut')).toEqual(Array.from({ length: ending.step }, (_, index) => index + 1))
})

it('what may not change is refused with its key and why, and nothing is changed', async () => {
  const fault: ConfigFault = await changeOf('longer', 'seed=7', 'training.updates=9').then(
    () => expect.unreachable(),
    (error) => error,
  )
  expect(fault.problems.map(({ key }) => key)).toEqual(['seed'])
  expect(fault.message).toMatch(/`seed`.*all draws/)
  expect(await changeOf('longer', 'training.updates=4')).toBeUndefined()
})
