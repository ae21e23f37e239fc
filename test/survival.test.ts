/** The promises of durability, with real processes: what `kill -9` may and may not do to a run. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type EpisodeId, runId } from '../src/identity.ts'
import { homeAt } from '../src/storage/home.ts'
import { isUpdateMetrics, readMetrics } from '../src/storage/metrics.ts'
import { openStore, type Store } from '../src/storage/store.ts'
import {
  eventually,
  killServer,
  type PerdureProcess,
  removeHome,
  serverPid,
  startPerdure,
  temporaryHome,
} from './perdure-process.ts'

const run = runId('survivor')
const updates = 8
let home: string
let perdure: PerdureProcess | undefined

beforeEach(() => {
  home = temporaryHome()
})

afterEach(async () => {
  await perdure?.killGroup()
  removeHome(home)
})

function train(): PerdureProcess {
  const words = ['train', 'examples/smoke.yaml', '--run', run, '--set', `training.updates=${updates}`]
  return startPerdure(home, ...words)
}

/** Opens the store once the run has made it, reads from it and closes it. */
async function inStore<T>(read: (store: Store) => Promise<T>): Promise<T> {
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  return await read(store)
}

/** Waits for an update, with episodes of the next ones in flight. */
async function untilUpdate(step: number): Promise<void> {
  await eventually(`update ${step}`, async () => {
    if (!existsSync(join(home, 'store.db'))) return undefined
    const latest = await inStore((store) => store.updates.latest(run))
    return (latest?.step ?? 0) >= step ? true : undefined
  })
}

interface Sealed {
  readonly id: EpisodeId
  readonly checksum: string
  readonly ended: number
}

async function sealedEpisodes(): Promise<readonly Sealed[]> {
  return inStore(async (store) => {
    const episodes = await store.episodes.page(run, '', 100_000)
    return episodes.map(({ id, seal }) => ({ id, checksum: seal.checksum, ended: seal.ended }))
  })
}

/** Every update once, every group once, every trajectory as it was sealed. */
async function audit(): Promise<void> {
  await inStore(async (store) => {
    const done = await store.updates.list(run)
    expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
    const groups = await store.groups.list(run, { consumed: true })
    const consumed = done.flatMap((update) => update.groups)
    expect(new Set(consumed).size).toBe(consumed.length)
    expect(groups.map(({ id }) => id).toSorted()).toEqual(consumed.toSorted())
    for (const { result } of groups)
      for (const episode of result?.episodes ?? []) {
        const { seal } = (await store.episodes.trajectory(episode)).episode
        expect(seal.outcome).not.toBe('infrastructure_error')
      }
  })
  const steps = readMetrics(homeAt(home).run(run).metricsFile).filter(isUpdateMetrics)
  expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
}

it('after kill -9 of everything, resume finishes the run with no update done twice, no group lost and no finished episode played again', async () => {
  perdure = train()
  await untilUpdate(2)
  const server = serverPid(home)
  expect(server).toBeDefined()
  killServer(home)
  await perdure.killGroup()
  const before = await sealedEpisodes()
  const updatesBefore = await inStore((store) => store.updates.list(run))
  expect(before.length).toBeGreaterThan(0)

  perdure = startPerdure(home, 'resume', run)
  const { code, stderr } = await perdure.ended
  expect(stderr).not.toMatch(/error/i)
  expect(code).toBe(0)
  await audit()
  const after = new Map((await sealedEpisodes()).map((episode) => [episode.id, episode]))
  for (const episode of before) expect(after.get(episode.id)).toEqual(episode)
  const updatesAfter = await inStore((store) => store.updates.list(run))
  expect(updatesAfter.slice(0, updatesBefore.length)).toEqual(updatesBefore)
}, 240_000)

it('after kill -9 of the Temporal server alone, the run goes on by itself', async () => {
  perdure = train()
  await untilUpdate(2)
  const killed = serverPid(home)
  killServer(home)
  const { code } = await perdure.ended
  expect(code).toBe(0)
  expect(serverPid(home)).not.toBe(killed)
  await audit()
}, 240_000)

it('an interrupted run ends cleanly with exit code 130, says how to go on, and goes on', async () => {
  perdure = train()
  await untilUpdate(1)
  perdure.child.kill('SIGINT')
  const interrupted = await perdure.ended
  expect(interrupted).toMatchObject({ code: 130 })
  expect(interrupted.stdout + interrupted.stderr).toContain(`perdure resume ${run}`)
  expect(serverPid(home)).toBeUndefined()
  perdure = startPerdure(home, 'resume', run)
  expect((await perdure.ended).code).toBe(0)
  await audit()
}, 240_000)
