/** A run that a program of the user's trains, and that program's death in the middle of it. */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const program = resolve(import.meta.dirname, '../../policy/trainer/foreign/foreign-program.testing.ts')
const run = runId('foreign')
const home = temporaryHome()
const notes = join(home, 'notes')
const { definition } = createEchoTask()
let session: TrainingSession

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    findEnvironment: () => definition,
  })
})

afterAll(async () => {
  await session.close()
  removeHome(home)
})

test('a run trains by the command that policy.trainer names, which may die', async () => {
  const trainer = [process.execPath, program, 'dies-once', notes]
  await session.start(run, tinyConfig({ policy: { trainer } }))
  expect(await session.result(run)).toMatchObject({ phase: 'done', step: 3, version: 3 })
  expect(existsSync(`${notes}.died`)).toBe(true)
  const directory = homeAt(home).run(run)
  const [first, last] = await Promise.all(
    [0, 3].map((version) => readCheckpoint(directory.checkpointDir(version))),
  )
  const name = 'model.embed_tokens.weight'
  // Each of the three updates adds 0.5.
  expect(last?.weights.get(name)?.[0]).toBeCloseTo((first?.weights.get(name)?.[0] ?? 0) + 1.5, 6)
  expect(readdirSync(directory.checkpointsDir).filter((entry) => entry.endsWith('.partial'))).toEqual([])
}, 180_000)
