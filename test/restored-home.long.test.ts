/** A home whose parts are of two times, or of another key, is recognized when a run is resumed, and ends whole. */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openSession, type TrainingSession } from '../client/training-session.ts'
import { runId } from '../identity/identity.ts'
import { type Home, homeAt } from '../storage/home.ts'
import { readMetrics } from '../storage/metrics.testing.ts'
import { openStore } from '../storage/store.ts'
import { createEchoTask } from './echo-task.ts'
import { eventually, removeHome, temporaryHome } from './perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from './tiny-run.ts'

const run = runId('restored')
const updates = 5
let home: Home
let session: TrainingSession | undefined
let log: string[]

beforeEach(() => {
  home = homeAt(temporaryHome())
  log = []
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await session?.close()
  removeHome(home.dir)
})

/** Opens a session whose updates wait from this step on. */
async function open(holdFrom = Number.POSITIVE_INFINITY): Promise<TrainingSession> {
  session = await openSession({
    home: home.dir,
    roles: 'all',
    log: (line) => log.push(line),
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () =>
      createCopyingTrainer(({ version }) => (version < holdFrom ? Promise.resolve() : new Promise(() => {}))),
    findEnvironment: () => createEchoTask().definition,
  })
  return session
}

/** Lets the run come to so many updates and leaves it there, as an interrupt does. */
async function playTo(step: number): Promise<void> {
  const opened = await open(step + 1)
  if (step === 1) await opened.start(run, tinyConfig({ training: { updates, keepCheckpoints: 10 } }))
  else await opened.resume(run)
  await using store = await openStore(home.storeFile)
  await eventually(`version ${step}`, async () =>
    (await store.runs.version(run)) === step ? true : undefined,
  )
  await opened.close()
  session = undefined
}

function copy(file: string, from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const suffix of ['', '-wal', '-shm']) {
    const source = join(from, basename(file)) + suffix
    const target = join(to, basename(file)) + suffix
    rmSync(target, { force: true })
    if (existsSync(source)) copyFileSync(source, target)
  }
}

/** The parts of two times: the run is played on after the file was copied. */
async function restore(file: string): Promise<void> {
  const backup = join(home.dir, 'backup')
  await playTo(1)
  copy(file, home.dir, backup)
  await playTo(3)
  copy(file, backup, home.dir)
}

async function expectAllUpdates(opened: TrainingSession): Promise<void> {
  expect(await opened.result(run)).toMatchObject({ phase: 'done', step: updates })
  await using store = await openStore(home.storeFile)
  const steps = Array.from({ length: updates }, (_, index) => index + 1)
  expect((await store.updates.list(run)).map(({ step }) => step)).toEqual(steps)
  const lines = readMetrics(home.run(run).metricsFile)
  expect(lines.flatMap((each) => ('step' in each ? [each.step] : []))).toEqual(steps)
}

// [RESTORED-2]
it('a store.db from an older backup is refused before any work, and its run continues without the newer workflows', async () => {
  await restore('store.db')
  await expect(open()).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(
      /the store is older than the workflows: it has version 1 of run restored, they have published version [23]; .*mv \S+temporal\.db/,
    ),
  })
  copy('temporal.db', home.dir, join(home.dir, 'newer'))
  for (const suffix of ['', '-wal', '-shm']) rmSync(home.temporalFile + suffix, { force: true })
  const opened = await open()
  await opened.resume(run)
  await expectAllUpdates(opened)
}, 240_000)

// [RESTORED-3]
it('a temporal.db from an older backup is reported, and the run continues from the store', async () => {
  await restore('temporal.db')
  const opened = await open()
  await opened.resume(run)
  const line =
    /the workflows are older than the store: they have published version [01] of run restored, it has version 3/
  expect(log.filter((each) => line.test(each))).toHaveLength(1)
  await expectAllUpdates(opened)
}, 240_000)

it('a home whose parts are of one time says nothing of it', async () => {
  await playTo(1)
  const opened = await open()
  await opened.resume(run)
  expect(await opened.result(run)).toMatchObject({ phase: 'done', step: updates })
  expect(log.filter((each) => /older than/.test(each))).toEqual([])
}, 240_000)

// [RESTORED-1]
it('workflows that the keys of this process do not open are refused with the key that is missing', async () => {
  const keyOf = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`
  vi.stubEnv('PERDURE_PAYLOAD_KEYS', keyOf('first', 1))
  await playTo(1)
  for (const [keys, reason] of [
    ['', /run restored cannot be read: .* key "first", and no keys are set; set PERDURE_PAYLOAD_KEYS/],
    [keyOf('second', 2), /run restored cannot be read: .* key "first".*it has second/],
    [keyOf('first', 3), /run restored cannot be read: .* not what was encrypted with the key "first"/],
  ] as const) {
    vi.stubEnv('PERDURE_PAYLOAD_KEYS', keys)
    await expect(open()).rejects.toThrow(reason)
  }
  vi.stubEnv('PERDURE_PAYLOAD_KEYS', `${keyOf('second', 2)},${keyOf('first', 1)}`)
  const opened = await open()
  await opened.resume(run)
  expect(await opened.result(run)).toMatchObject({ phase: 'done' })
}, 240_000)
