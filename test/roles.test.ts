/** A worker that dies in the middle of episodes: the next one of its role plays them to their end. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession, type Role, roles, type TrainingSession } from '../client/training-session.ts'
import { loadConfig } from '../config/loader.ts'
import { type EpisodeId, groupId, parseEpisodeId, runId } from '../identity/identity.ts'
import { homeAt } from '../storage/home.ts'
import { openStore, type Store } from '../storage/store.ts'
import { episodesOf, openEpisodes } from './open-episodes.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from './perdure-process.ts'

const run = runId('shared')
const home = temporaryHome()
const updates = 2
const parents = Array.from({ length: 4 * updates }, (_, number) => groupId(run, number))
const workers: PerdureProcess[] = []
let session: TrainingSession
let store: Store
/** Episodes with turns behind them when their worker died. */
let open: readonly EpisodeId[]

function start(role: Role): PerdureProcess {
  const worker = startPerdure(home, 'worker', '--role', role)
  workers.push(worker)
  return worker
}

beforeAll(async () => {
  session = await openSession({ home, roles: 'client', log: () => undefined })
  store = await openStore(homeAt(home).storeFile)
  const environment = start('environment')
  for (const role of roles) if (role !== 'environment') start(role)
  const set = [
    'orchestration.dispatch=server',
    `training.updates=${updates}`,
    'warmStart.demonstrations=8',
    'warmStart.epochs=1',
    'rollout.invalidActionLimit=10', // so small a policy plays its ten turns only where no bad one ends them
    'evaluation.suites=[]',
  ]
  await session.start(run, loadConfig({ file: 'test/whole-pipeline.yaml', set }))
  open = await eventually('episodes that are played', async () => {
    const found = await openEpisodes(store, parents)
    return found.length > 0 ? found : undefined
  })
  await environment.killGroup()
  start('environment')
  await session.result(run)
}, 240_000)

afterAll(async () => {
  for (const worker of workers) await worker.killGroup()
  await store?.close()
  await session?.close()
  removeHome(home)
})

it('the run ends with every update, and no group in two', async () => {
  const done = await store.updates.list(run)
  expect(done.map(({ step }) => step)).toEqual([1, 2])
  expect(new Set(done.flatMap(({ groups }) => groups)).size).toBe(4 * updates)
})

it('the episodes whose sessions died are played on by their recorded actions, as the same attempt', async () => {
  expect(open.length).toBeGreaterThan(0)
  for (const id of open) {
    expect(parseEpisodeId(id).attempt).toBe(0)
    const episode = await store.episodes.get(id)
    expect(episode?.seal?.outcome).toMatch(/completed|turn_limit|context_limit|invalid_action/)
  }
  expect((await episodesOf(store, parents)).every(({ attempt }) => attempt === 0)).toBe(true)
})
