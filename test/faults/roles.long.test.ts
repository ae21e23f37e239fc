/** Roles as processes of their own: one run shared by all, and what `kill -9` of each costs. */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  openSession,
  type Role,
  type RunProgress,
  roles,
  type TrainingSession,
} from '../../client/session/training-session.ts'
import { loadConfig } from '../../config/files/loader.ts'
import { type EpisodeId, evaluationId, groupId, parseEpisodeId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { isSealed } from '../../storage/trajectories/episode.ts'
import { episodesOf, openEpisodes } from '../support/open-episodes.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const run = runId('shared')
const home = temporaryHome()
const updates = 6 // as many chances to catch one in progress while episodes are played
const killed = ['environment', 'policy', 'trainer'] as const
const workers = new Map<Role, PerdureProcess>()
/** Libraries that each process had mapped into its memory, where the system lists them. */
const mapped = new Map<Role, string>()
/** Seconds from the kill to the first sign of what only a new worker can have done. */
const noticed = new Map<Role, number>()
let session: TrainingSession
let store: Store
/** Episodes with turns behind them when their workers died. */
let open: readonly EpisodeId[]
let progress: RunProgress

function start(role: Role): void {
  workers.set(role, startPerdure(home, 'worker', '--role', role))
}

async function kill(role: Role): Promise<void> {
  const worker = workers.get(role)
  const maps = `/proc/${worker?.child.pid}/maps`
  if (existsSync(maps)) mapped.set(role, readFileSync(maps, 'utf8'))
  await worker?.killGroup()
}

const parents = [
  ...Array.from({ length: 4 * (updates + 1) }, (_, number) => groupId(run, number)),
  evaluationId(run, 'held_out', 0, 1),
]

/** An update that has its groups and not yet its result. */
async function updateInHand(): Promise<number | undefined> {
  const latest = (await store.updates.latest(run))?.step ?? 0
  const consumed = await store.groups.list(run, { consumedBy: latest + 1 })
  return consumed.length > 0 ? latest + 1 : undefined
}

beforeAll(async () => {
  session = await openSession({ home, roles: 'client', log: () => undefined })
  store = await openStore(homeAt(home).storeFile)
  for (const role of roles) start(role)
  const set = [
    'orchestration.dispatch=server',
    `training.updates=${updates}`,
    'evaluation.suites.0.episodes=40', // played beside the first updates
    'learning.microBatchTokens=64', // slow updates
  ]
  await session.start(run, loadConfig({ file: 'test/support/whole-pipeline.yaml', set }))

  const step = await eventually('an update in progress while episodes are played', async () => {
    const inHand = await updateInHand()
    if (inHand === undefined) return undefined
    open = await openEpisodes(store, parents)
    return open.length > 0 ? inHand : undefined
  })
  await Promise.all(killed.map(kill))
  const since = performance.now()
  for (const role of killed) start(role)
  const untilWork = async (role: Role, isDone: () => Promise<boolean>) => {
    await eventually(`work of the new ${role}`, async () => ((await isDone()) ? true : undefined))
    noticed.set(role, (performance.now() - since) / 1000)
  }
  await Promise.all([
    untilWork('trainer', async () => ((await store.updates.latest(run))?.step ?? 0) >= step),
    untilWork('environment', async () => {
      const stored = await Promise.all(open.map((id) => store.episodes.get(id)))
      return stored.some((episode) => episode !== undefined && isSealed(episode))
    }),
  ])
  progress = await session.result(run)
  await kill('orchestrator')
}, 240_000)

afterAll(async () => {
  for (const worker of workers.values()) await worker.killGroup()
  await store?.close()
  await session?.close()
  removeHome(home)
})

describe('a run shared by processes of one role each', () => {
  it('ends as it should although environment, policy and trainer were killed in the middle of their work', async () => {
    expect(progress).toMatchObject({ phase: 'done', step: updates })
    const done = await store.updates.list(run)
    expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
    const consumed = done.flatMap(({ groups }) => groups)
    expect(new Set(consumed).size).toBe(4 * updates)
  })

  it('plays the episodes on whose sessions died, by their recorded actions, as the same attempt', async () => {
    expect(open.length).toBeGreaterThan(0)
    for (const id of open) {
      expect(parseEpisodeId(id).attempt).toBe(0)
      const episode = await store.episodes.get(id)
      expect(episode?.seal?.outcome).toMatch(/completed|turn_limit|context_limit|invalid_action/)
    }
    expect((await episodesOf(store, parents)).every(({ attempt }) => attempt === 0)).toBe(true)
  })

  it('notices a dead worker within a minute', () => {
    expect(noticed.get('environment')).toBeLessThan(60)
    expect(noticed.get('trainer')).toBeLessThan(60)
  })

  it.skipIf(process.platform !== 'linux')('loads the tensor runtime only where tensors are computed', () => {
    expect(mapped.get('policy')).toMatch(/onnxruntime/)
    expect(mapped.get('trainer')).toMatch(/onnxruntime/)
    expect(mapped.get('environment')).not.toMatch(/onnxruntime/)
    expect(mapped.get('orchestrator')).not.toMatch(/onnxruntime/)
  })
})
