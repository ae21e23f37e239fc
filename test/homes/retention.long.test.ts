/** Retention on the real server: a run cleans up after itself, and `clean` forgets what is past its time. */
import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCleaning } from '../../client/cleaning.ts'
import { openSession, type RunProgress } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { connect, type TemporalConnection } from '../../temporal/connection.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const run = runId('tidy')
const updates = 6
const directory = temporaryHome()
const home = homeAt(directory)
const { definition } = createEchoTask()
const config = tinyConfig({
  training: { updates, keepCheckpoints: 2 },
  retention: { everyCheckpoint: 3, batches: 2, trajectoryMegabytes: 0.001 },
})
let progress: RunProgress
/** Keeps the server from being started for every look. */
let server: TemporalConnection

beforeAll(async () => {
  server = await connect(directory)
  const session = await openSession({
    home: directory,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
  await session.start(run, config)
  progress = await session.result(run)
  await session.close()
}, 240_000)

afterAll(async () => {
  await server?.close()
  removeHome(directory)
})

describe('a run', () => {
  it('keeps the latest checkpoints, every n-th, and no batch beyond the latest', async () => {
    expect(progress).toMatchObject({ phase: 'done', step: updates })
    expect(await publishedVersions(home.run(run).checkpointsDir)).toEqual([0, 3, 5, 6])
    expect(readdirSync(home.run(run).batchesDir).sort()).toEqual(['5.safetensors', '6.safetensors'])
  })
})

describe('cleaning', () => {
  it('removes what is beyond the retention, gives the room back, and finds nothing the second time', async () => {
    await using store = await openStore(home.storeFile)
    const now = Date.now()
    // As after a year.
    const cleaning = createCleaning(home, store, () => undefined, now + 365 * 24 * 60 * 60 * 1000)
    const runs = [{ run, config, created: now - 1 }]
    const found = await cleaning.look(runs)
    expect(found.histories[0]?.executions.length).toBeGreaterThan(updates * 2 * 3)
    expect(found.runs[0]?.removals).toContainEqual(expect.objectContaining({ kind: 'trajectories' }))
    expect(await cleaning.look(runs)).toEqual(found)

    await cleaning.remove(found)
    expect((await cleaning.look(runs, { histories: false })).runs).toEqual([])
    await eventually('the server to forget', async () =>
      (await cleaning.look(runs)).histories.length === 0 ? true : undefined,
    )
    expect(await cleaning.look(runs)).toEqual({ runs: [], histories: [], logs: [] })
    expect(await store.updates.list(run)).toHaveLength(updates)
    expect(existsSync(home.run(run).metricsFile)).toBe(true)
  }, 240_000)
})
