/** A run whose environments cannot be had: it wears nothing out, says so, and goes on when they are back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../src/identity.ts'
import { homeAt } from '../src/storage/home.ts'
import { openStore, type Store } from '../src/storage/store.ts'
import type { TrainingSession } from '../src/workers/training-session.ts'
import { backendFault, createEchoTask } from './echo-task.ts'
import { fetchHistories, replay } from './executions.ts'
import { eventually, removeHome, temporaryHome } from './perdure-process.ts'
import { openTinySession, tinyConfig } from './tiny-run.ts'

const home = temporaryHome()
const run = runId('away')
let isAway = true
const { definition } = createEchoTask({
  replayable: false,
  // At the second word: a session that has heard nothing would be opened again and again first.
  beforeStep({ heard }) {
    if (isAway && heard.length === 1) throw backendFault()
  },
})
let session: TrainingSession
let store: Store

beforeAll(async () => {
  session = await openTinySession(home, definition)
  store = await openStore(homeAt(home).storeFile)
})

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

describe('a run of which no group ends with a result', () => {
  it('says so and starts groups less often, and at once when somebody lets it go on', async () => {
    const rollout = {
      groupSize: 2,
      groupsPerUpdate: 2,
      maxStaleness: 0,
      maxTokensPerTurn: 64,
      maxAttempts: 1,
    }
    await session.start(run, tinyConfig({ rollout, training: { updates: 1 } }))
    const warning = await eventually('the run to say so', async () => (await session.progress(run)).warning)
    expect(warning).toMatch(/the last \d+ groups ended without a result.*`perdure continue away`/)
    // It waits for ten seconds at least: what it has begun by now is all for a while.
    const begun = (await store.groups.list(run)).length
    expect(begun).toBeLessThanOrEqual(12)
    isAway = false
    const since = performance.now()
    await session.continue(run)
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 1 })
    expect((performance.now() - since) / 1000).toBeLessThan(9)
    expect((await session.progress(run)).warning).toBeUndefined()
  })

  it('replays', async () => {
    expect(await replay(await fetchHistories(home))).toEqual([])
  })
})
