/** A disk that is full: the work waits, says so, and continues when there is room again. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mountSmallDisk, type SmallDisk } from '../../bench/chaos/disk.ts'
import { openSession, type RunProgress, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { verifyCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const run = runId('full')
const updates = 4
const folder = temporaryHome()
const home = join(folder, 'home')

const mounted = mountSmallDisk(folder, 64)
if (typeof mounted === 'string') {
  console.warn(`disk-full.long.test.ts is skipped: ${mounted}`)
  removeHome(folder)
}

describe.skipIf(typeof mounted === 'string')('a run whose disk is full', () => {
  // Nothing in here runs where there is none.
  const disk = mounted as SmallDisk
  const log: string[] = []
  const { definition, sessions } = createEchoTask()
  let updatesStarted = 0
  let session: TrainingSession
  let progress: RunProgress
  let startedWhenFull: number

  beforeAll(async () => {
    mkdirSync(home)
    session = await openSession({
      home,
      roles: 'all',
      log: (line) => log.push(line),
      createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
      createTrainer: () =>
        createCopyingTrainer(async () => {
          updatesStarted += 1
          if (updatesStarted === 2) disk.fill()
        }),
      findEnvironment: () => definition,
    })
    // A disk that fills faster than the watch looks: the run is not paused before.
    const retention = { pauseFreeShare: 0 }
    await session.start(run, tinyConfig({ training: { updates, keepCheckpoints: 100 }, retention }))
    await eventually('the full disk to be reported', () =>
      log.some((line) => line.includes('disk is full')) ? true : undefined,
    )
    startedWhenFull = updatesStarted
    disk.empty()
    progress = await session.result(run)
  }, 180_000)

  afterAll(async () => {
    await session?.close()
    disk.remove()
  })

  it('says so and what to do, and no sentence of it twice', () => {
    const warnings = log.filter((line) => line.includes('disk is full'))
    expect(warnings).toEqual([...new Set(warnings)])
    for (const warning of warnings) expect(warning).toContain('free space and the work continues')
    expect(startedWhenFull).toBeLessThan(updates)
  })

  it('continues by itself when there is room again, with nothing lost or done twice', async () => {
    expect(progress).toMatchObject({ phase: 'done', step: updates, version: updates })
    await using store = await openStore(homeAt(home).storeFile)
    const done = await store.updates.list(run)
    expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
    const consumed = done.flatMap(({ groups }) => groups)
    expect(new Set(consumed).size).toBe(2 * updates)
    for (const { result } of await store.groups.list(run, { consumed: true }))
      for (const id of result?.episodes ?? [])
        expect((await store.episodes.trajectory(id)).episode.seal.outcome).toBe('completed')
    expect(sessions.length).toBeGreaterThanOrEqual(4 * updates)
  })

  it('leaves no checkpoint that is broken', async () => {
    const { checkpointsDir, checkpointDir } = homeAt(home).run(run)
    const versions = await publishedVersions(checkpointsDir)
    expect(versions).toEqual(Array.from({ length: updates + 1 }, (_, version) => version))
    for (const version of versions) await verifyCheckpoint(checkpointDir(version))
  })
})
