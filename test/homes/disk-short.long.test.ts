/** A disk that fills: the run warns, then pauses with everything whole, and continues by itself when there is room. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mountSmallDisk, type SmallDisk } from '../../bench/chaos/disk.ts'
import { openSession, type RunProgress, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createGate,
  createSpeakingEngine,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

const run = runId('short')
const folder = temporaryHome()
const home = join(folder, 'home')
const megabyte = 1e6

const mounted = mountSmallDisk(folder, 96)
if (typeof mounted === 'string') {
  console.warn(`disk-short.long.test.ts is skipped: ${mounted}`)
  removeHome(folder)
}

describe.skipIf(typeof mounted === 'string')('a run whose disk fills', () => {
  // Nothing in here runs where there is none.
  const disk = mounted as SmallDisk
  const log: string[] = []
  const first = createGate()
  let session: TrainingSession
  let warned: RunProgress
  let paused: RunProgress
  let done: RunProgress

  function untilProgress(what: string, holds: (progress: RunProgress) => boolean): Promise<RunProgress> {
    return eventually(what, async () => {
      const progress = await session.progress(run)
      return holds(progress) ? progress : undefined
    })
  }

  beforeAll(async () => {
    mkdirSync(home)
    session = await openSession({
      home,
      roles: 'all',
      log: (line) => log.push(line),
      diskLookMs: 50,
      createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
      createTrainer: () => createCopyingTrainer(() => first.passed),
      findEnvironment: () => createEchoTask().definition,
    })
    const retention = {
      warnFreeMegabytes: 40,
      warnFreeShare: 0.9,
      pauseFreeMegabytes: 20,
      pauseFreeShare: 0.9,
    }
    await session.start(run, tinyConfig({ training: { updates: 4 }, retention }))
    await untilProgress('groups to be ready', ({ groupsReady }) => groupsReady > 0)
    disk.fill(30 * megabyte)
    warned = await untilProgress('the warning', ({ warning }) => warning !== undefined)
    disk.fill(15 * megabyte)
    paused = await untilProgress('the pause', ({ phase }) => phase === 'paused')
    first.open()
    disk.empty()
    await untilProgress('the warning to end', ({ warning }) => warning === undefined)
    done = await session.result(run)
  }, 240_000)

  afterAll(async () => {
    await session?.close()
    disk.remove()
  })

  it('warns in its progress and once in the log while it continues', () => {
    expect(warned.phase).toBe('training')
    expect(warned.warning).toMatch(/are free on the disk of .*perdure clean.*below 20 MB the run pauses/)
    expect(log.filter((line) => line.includes('the run pauses'))).toHaveLength(1)
  })

  it('pauses itself once, says why and when it continues, and so does the audit trail', async () => {
    expect(paused.pauseReason).toMatch(/perdure clean.*continues by itself when there is room/)
    expect(log.filter((line) => line.includes('is paused'))).toHaveLength(1)
    await using store = await openStore(homeAt(home).storeFile)
    expect(await store.audit.list(run)).toMatchObject([
      { what: 'pause', by: 'disk watch', reason: paused.pauseReason },
      { what: 'continue', by: 'disk watch', reason: expect.stringContaining('are free again') },
    ])
  })

  // [DISK-PAUSE-1]
  it('continues by itself when there is room, with no reason left, to its end', () => {
    expect(done).toMatchObject({ phase: 'done', step: 4 })
    expect(done.pauseReason).toBeUndefined()
  })
})
