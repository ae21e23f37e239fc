/** An episode is the same however its work is dispatched: turn by turn through the server, or in blocks. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { type RunId, runId } from '../../identity/identity.ts'
import type { SamplingRequest } from '../../policy/engines/engine.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, saying, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const dispatches = ['local', 'server'] as const
let session: TrainingSession
let store: Store

/** The action follows from the seed of its turn, and is sometimes invalid. */
function speak({ seed }: SamplingRequest): string {
  if (seed % 4 === 0) return 'no call'
  return saying(seed % 2 === 0 ? 'yes' : 'no')
}

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(speak)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => createEchoTask().definition,
  })
  store = await openStore(homeAt(home).storeFile)
  for (const dispatch of dispatches) {
    const sections = {
      orchestration: { dispatch },
      rollout: { groupSize: 4, groupsPerUpdate: 2, maxStaleness: 0 },
    }
    const crossPolicy = { staleShare: 0.4, poolSize: 2, refreshEvery: 1 }
    await session.start(dispatch, tinyConfig({ ...sections, crossPolicy, training: { updates: 3 } }))
    await session.result(dispatch)
  }
}, 120_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

/** All that is stored of a run's episodes, except their run's name, the times, and the checksum over them. */
async function played(run: RunId) {
  const episodes = await store.episodes.page(run, '', 1000)
  return Promise.all(
    episodes.map(async ({ id, instance, seal: { ended: _, checksum: __, ...seal } }) => ({
      id: id.slice(run.length),
      instance,
      seal,
      actions: (await store.actions.list(id)).map(({ episode: _, ...action }) => action),
      observations: (await store.observations.list(id)).map(({ episode: _, ...observation }) => observation),
    })),
  )
}

// [EPISODE-3] [EPISODE-5]
it('episodes in blocks have the turns, versions, tokens and rewards of those whose turns go through the server', async () => {
  const [local, server] = await Promise.all(dispatches.map((name) => played(runId(name))))
  expect(local).toHaveLength(24)
  expect(local).toEqual(server)
  const versions = local?.flatMap(({ actions }) => actions.map(({ version }) => version))
  expect(new Set(versions).size).toBeGreaterThan(2)
})

it('every execution replays in both', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
})
