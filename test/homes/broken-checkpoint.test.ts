/** A checkpoint with one byte flipped: refused by name, and the one before it used. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const run = runId('flipped')
const home = temporaryHome()
const directory = homeAt(home).run(run)
const { definition } = createEchoTask()
const trainedFrom: (readonly [version: number, from: string])[] = []
const log: string[] = []
let session: TrainingSession | undefined
let resumedAt = 0

/** The first session stops the run while its second update is made. */
async function open(): Promise<TrainingSession> {
  const opened = await openSession({
    home,
    roles: 'all',
    log: (line) => log.push(line),
    createEngine: () => Promise.resolve(verifyingEngine()),
    createTrainer: () =>
      createCopyingTrainer(async ({ version, fromCheckpointDir }) => {
        trainedFrom.push([version, fromCheckpointDir])
        if (version === 2 && session === undefined) await opened.stop(run)
      }),
    findEnvironment: () => definition,
  })
  return opened
}

/** The embedded engine reads every byte of what it loads; so does this one. */
function verifyingEngine(): Engine {
  const engine = createSpeakingEngine(sayYesOrNo)
  const load = engine.load.bind(engine)
  engine.load = async (version, dir) => {
    await readCheckpoint(dir)
    await load(version, dir)
  }
  return engine
}

function flipOneByte(file: string): void {
  const bytes = readFileSync(file)
  const middle = Math.floor(bytes.length / 2)
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
  writeFileSync(file, bytes)
}

beforeAll(async () => {
  const config = tinyConfig({
    training: { updates: 4, keepCheckpoints: 10 },
    evaluation: { every: 0, suites: [{ name: 'few', task: 'echo', episodes: 2 }] },
  })
  const first = await open()
  await first.start(run, config)
  expect(await first.result(run)).toMatchObject({ phase: 'stopped', step: 2, version: 2 })
  await first.close()
  flipOneByte(join(directory.checkpointDir(2), 'model.safetensors'))
  trainedFrom.length = 0
  session = await open()
}, 120_000)

afterAll(async () => {
  await session?.close()
  removeHome(home)
})

const refusal = /checkpoints\/2\b.*model\.safetensors/

it('an evaluation of it names it and evaluates the one before, under that one’s name', async () => {
  log.length = 0
  expect(await session?.evaluate(run, {})).toMatchObject({ suite: 'few', version: 1, n: 2 })
  expect(log.find((line) => refusal.test(line))).toBeDefined()
  expect(log).toContain('version 1 is used in place of 2')
})

// [UPDATE-1]
it('a resumed run names it and trains on from the one before', async () => {
  log.length = 0
  resumedAt = Date.now()
  await session?.resume(run)
  expect(await session?.result(run)).toMatchObject({ phase: 'done', step: 4, version: 4 })
  expect(trainedFrom.map(([version, from]) => [version, from])).toEqual([
    [3, directory.checkpointDir(1)],
    [4, directory.checkpointDir(3)],
  ])
  expect(log.filter((line) => refusal.test(line)).length).toBeGreaterThan(0)
  expect(log).toContain('training continues from version 1 instead of 2')
})

it('turns played after that tell the version that really spoke', async () => {
  await using store = await openStore(homeAt(home).storeFile)
  const later = (await store.episodes.page(run, '', 1000)).filter(({ created }) => created >= resumedAt)
  expect(later.length).toBeGreaterThan(0)
  for (const { id } of later) expect((await store.episodes.trajectory(id)).versions).not.toContain(2)
})

it('an evaluation of a version that is not kept says which ones are', async () => {
  await expect(session?.evaluate(run, { version: 9 })).rejects.toThrow(/no version 9; it has 0, 1, 2, 3, 4/)
})

it('an evaluation of the newest version evaluates the one before where it is missing', async () => {
  rmSync(directory.checkpointDir(4), { recursive: true })
  log.length = 0
  expect(await session?.evaluate(run, { samples: 2 })).toMatchObject({ version: 3, n: 4 })
  expect(log).toContain('version 3 is used in place of 4')
})
