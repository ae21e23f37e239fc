/** A home whose parts are of two times, or of another key, is recognized when it is opened, and its runs end whole. */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { runChangeOf } from '../../client/run/run-change.ts'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { evaluationId, groupId, parseEpisodeId, runId } from '../../identity/identity.ts'
import { type Home, homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

type EpisodeParts = ReturnType<typeof parseEpisodeId>

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

interface Holds {
  /** The first update that waits. */
  readonly updatesFrom?: number
  /** Whether the turns of an episode wait. */
  readonly holds?: (episode: EpisodeParts) => boolean
  /** Configuration that the run is started with. */
  readonly config?: RunConfig
}

/** Opens a session; work that is held never ends in it. */
async function open({ updatesFrom = Infinity, holds = () => false }: Holds = {}): Promise<TrainingSession> {
  const held = new Promise<never>(() => {})
  session = await openSession({
    home: home.dir,
    roles: 'all',
    log: (line) => log.push(line),
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine((request) =>
          holds(parseEpisodeId(request.cacheKey)) ? held : sayYesOrNo(request),
        ),
      ),
    createTrainer: () =>
      createCopyingTrainer(({ version }) => (version < updatesFrom ? Promise.resolve() : held)),
    findEnvironment: () => createEchoTask().definition,
  })
  return session
}

/** Starts the run, or lets it go on, until the store has so much; then the session is closed, as by an interrupt. */
async function playUntil(
  what: string,
  reached: (store: Store) => Promise<boolean>,
  holds: Holds,
): Promise<void> {
  const opened = await open(holds)
  await using store = await openStore(home.storeFile)
  if ((await store.runs.get(run)) === undefined)
    await opened.start(run, holds.config ?? tinyConfig({ training: { updates, keepCheckpoints: 10 } }))
  else await opened.resume(run)
  await eventually(what, async () => ((await reached(store)) ? true : undefined))
  await opened.close()
  session = undefined
}

/** Lets the run come to so many updates and leaves it there. */
function playTo(step: number): Promise<void> {
  const hasPublished = async (store: Store) => (await store.runs.version(run)) === step
  return playUntil(`version ${step}`, hasPublished, { updatesFrom: step + 1 })
}

/** Lets the run play so many groups with the version that it has, and leaves it there. */
function playGroups(count: number): Promise<void> {
  const hasPlayed = async (store: Store) =>
    (await store.groups.list(run, { status: 'complete' })).length === count
  return playUntil(`${count} groups`, hasPlayed, {
    updatesFrom: 1,
    holds: ({ parent }) => Number(parent.split('/g')[1]) >= count,
  })
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

/** Continues the run with so many updates. */
async function change(opened: TrainingSession, wanted: number): Promise<void> {
  await using store = await openStore(home.storeFile)
  await opened.resume(
    run,
    await runChangeOf({ store, home, own: [createEchoTask().definition] }, run, [
      `training.updates=${wanted}`,
    ]),
  )
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
it('a run whose store.db is older than its workflows continues from the store, and each update is made once', async () => {
  await restore('store.db')
  const opened = await open()
  const line =
    /the store is older than the workflows: they have published version [23] of run restored, it has version 1; the run continues/
  expect(log.filter((each) => line.test(each))).toHaveLength(1)
  await opened.resume(run)
  await expectAllUpdates(opened)
}, 240_000)

// [RESTORED-2]
it('a run that an older store.db calls done is recognized by its workflow, and continues from the store when it is changed', async () => {
  const opened = await open()
  await opened.start(run, tinyConfig({ training: { updates: 1, keepCheckpoints: 10 } }))
  expect(await opened.result(run)).toMatchObject({ phase: 'done', step: 1 })
  await opened.close()
  const backup = join(home.dir, 'backup')
  copy('store.db', home.dir, backup)
  const again = await open({ updatesFrom: 4 })
  await change(again, updates)
  await using store = await openStore(home.storeFile)
  await eventually('version 3', async () => ((await store.runs.version(run)) === 3 ? true : undefined))
  await again.close()
  await store.close()
  copy('store.db', backup, home.dir)
  const restored = await open()
  expect(
    log.filter((each) => /the workflows are ended, and `perdure resume restored`/.test(each)),
  ).toHaveLength(1)
  expect(await restored.result(run)).toMatchObject({ phase: 'done', step: 1 })
  await change(restored, updates)
  await expectAllUpdates(restored)
}, 240_000)

// [RUN-6] [STORED-RESTART-1] [KNOWN-1]
it('groups that the workflow knows to be done and an older store.db lacks are played again under their identities', async () => {
  await playGroups(1)
  const backup = join(home.dir, 'backup')
  copy('store.db', home.dir, backup)
  await playGroups(3)
  copy('store.db', backup, home.dir)
  const opened = await open()
  expect(log.filter((each) => /older than/.test(each))).toEqual([])
  await opened.resume(run)
  await expectAllUpdates(opened)
  await using store = await openStore(home.storeFile)
  const groups = await store.groups.list(run, { status: 'complete' })
  expect(groups.slice(0, 3).map(({ number }) => number)).toEqual([0, 1, 2])
  expect((await store.groups.list(run, { status: 'abandoned' })).length).toBe(0)
}, 240_000)

// [GROUP-4] [KNOWN-2]
it('episodes that a group knows to be won and an older store.db lacks are played again before the group counts', async () => {
  const first = groupId(run, 0)
  const sealed = async (store: Store) =>
    (await store.episodes.list(first)).filter(({ seal }) => seal !== undefined)
  await playUntil(
    'both episodes of the first group',
    async (store) => (await store.episodes.list(first)).length === 2,
    {
      holds: () => true,
    },
  )
  const backup = join(home.dir, 'backup')
  copy('store.db', home.dir, backup)
  await playUntil('the first episode', async (store) => (await sealed(store)).length === 1, {
    holds: ({ sample }) => sample === 1,
  })
  copy('store.db', backup, home.dir)
  const opened = await open()
  await opened.resume(run)
  await expectAllUpdates(opened)
  await using store = await openStore(home.storeFile)
  const group = await store.groups.get(first)
  expect(group).toMatchObject({ status: 'complete' })
  expect((await sealed(store)).map(({ id }) => id)).toEqual(
    expect.arrayContaining([...(group?.result?.episodes ?? [])]),
  )
}, 240_000)

// [EVALUATION-5]
it('episodes that an evaluation knows to be won and an older store.db lacks are played again before there is a result', async () => {
  const suite = { name: 'held_out', task: 'echo', split: 'train', episodes: 2 }
  const config = tinyConfig({ training: { updates: 1 }, evaluation: { every: 1, suites: [suite] } })
  const first = evaluationId(run, suite.name, 0, config.seed)
  const episodes = (store: Store) => store.episodes.list(first)
  const isHeld = (parent: string) => parent === first
  await playUntil('both episodes', async (store) => (await episodes(store)).length === 2, {
    holds: ({ parent }) => isHeld(parent),
    config,
  })
  const backup = join(home.dir, 'backup')
  copy('store.db', home.dir, backup)
  const isSealed = async (store: Store) => (await episodes(store)).some(({ seal }) => seal !== undefined)
  await playUntil('the first episode', isSealed, {
    holds: ({ parent, sample }) => isHeld(parent) && sample === 1,
  })
  copy('store.db', backup, home.dir)
  const opened = await open()
  await opened.resume(run)
  expect(await opened.result(run)).toMatchObject({ phase: 'done' })
  await using store = await openStore(home.storeFile)
  expect((await store.evaluations.get(first))?.result).toMatchObject({ n: 2, planned: 2 })
  expect((await episodes(store)).filter(({ seal }) => seal === undefined)).toEqual([])
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

// [RESTORED-3]
it('a run that the store calls done, beside a temporal.db of when it was in progress, is done once it is resumed', async () => {
  const backup = join(home.dir, 'backup')
  await playTo(1)
  copy('temporal.db', home.dir, backup)
  const first = await open()
  await first.resume(run)
  await expectAllUpdates(first)
  await first.close()
  copy('temporal.db', backup, home.dir)
  const opened = await open()
  await opened.resume(run)
  await expectAllUpdates(opened)
}, 240_000)

// [RUN-6]
it('a workflow one update behind the store takes over what the store has, though it had decided otherwise', async () => {
  const backup = join(home.dir, 'backup')
  await playGroups(1)
  copy('temporal.db', home.dir, backup)
  await playTo(1)
  copy('temporal.db', backup, home.dir)
  const opened = await open()
  await opened.resume(run)
  await expectAllUpdates(opened)
}, 240_000)

/** A setting is changed, and the server's file is put back as it was before: what was ordered is in the store alone. */
async function loseOrder(): Promise<void> {
  const backup = join(home.dir, 'backup')
  await playGroups(1)
  copy('temporal.db', home.dir, backup)
  const opened = await open({ updatesFrom: 1, holds: () => true })
  await opened.resume(run)
  await opened.change(run, { 'learning.clipHigh': 0.3 })
  await opened.close()
  copy('temporal.db', backup, home.dir)
}

/** The settings that the run was given, with the version from which on they held. */
async function changesOf(opened: TrainingSession): Promise<readonly unknown[]> {
  const trail = await opened.audit(run)
  return trail
    .filter(({ what }) => what === 'learning.clipHigh')
    .map(({ to, effectVersion }) => [to, effectVersion !== null])
}

// [KNOWN-3]
it('an order that an older temporal.db has lost holds all the same, because it is in the audit trail', async () => {
  await loseOrder()
  const opened = await open()
  await opened.resume(run)
  await expectAllUpdates(opened)
  expect(await changesOf(opened)).toEqual([[0.3, true]])
  await using store = await openStore(home.storeFile)
  expect(await store.runs.state(run)).toMatchObject({ learning: { clipHigh: 0.3 } })
}, 240_000)

// [AUDIT-TRAIL-1] [STORED-RESTART-3]
it('an order that would get the number of one that an older temporal.db has lost is given again, and both are in the trail', async () => {
  await loseOrder()
  const opened = await open({ updatesFrom: 1, holds: () => true })
  await opened.resume(run)
  await opened.change(run, { 'learning.clipHigh': 0.4 })
  expect(await changesOf(opened)).toMatchObject([
    [0.3, expect.anything()],
    [0.4, expect.anything()],
  ])
  expect((await opened.audit(run)).filter(({ what }) => what === 'restart')).toHaveLength(1)
  await opened.close()
  const again = await open()
  await again.resume(run)
  await expectAllUpdates(again)
  await using store = await openStore(home.storeFile)
  expect(await store.runs.state(run)).toMatchObject({ learning: { clipHigh: 0.4 } })
}, 240_000)

// [STORED-RESTART-3]
it('a run that is stopped while it continues from an older store.db ends as stopped, and its groups are in the store', async () => {
  await playGroups(1)
  const backup = join(home.dir, 'backup')
  copy('store.db', home.dir, backup)
  await playGroups(3)
  copy('store.db', backup, home.dir)
  // Turns wait, so that no update can begin, which the stop would wait for.
  const opened = await open({ holds: () => true })
  await opened.resume(run)
  await opened.stop(run)
  expect(await opened.result(run)).toMatchObject({ phase: 'stopped' })
  await opened.close()
  const again = await open()
  await again.resume(run)
  await expectAllUpdates(again)
  await using store = await openStore(home.storeFile)
  expect((await store.episodes.count(run)).running).toBeUndefined()
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
