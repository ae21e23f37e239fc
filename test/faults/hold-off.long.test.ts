/** A run whose environments cannot be had: it wears nothing out, says so, and continues when they are back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { backendFault, createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay, withClient } from '../support/executions.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { openTinySession, tinyConfig } from '../support/tiny-run.ts'

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
  it('says so and starts groups less often, and at once when it is continued', async () => {
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

  it('continues as new for as long as it lasts, and continues where its environments are back', async () => {
    isAway = true
    const long = runId('away-for-long')
    // A round of groups is more than a history may hold: no hold-off is waited for.
    const rollout = {
      groupSize: 2,
      groupsPerUpdate: 16,
      maxStaleness: 0,
      maxTokensPerTurn: 64,
      maxAttempts: 1,
    }
    const orchestration = { historyEvents: 100 }
    await session.start(long, tinyConfig({ rollout, orchestration, training: { updates: 1 } }))
    await withClient(home, async ({ workflow }) => {
      const first = await workflow.getHandle(long).describe()
      await eventually('a new execution', async () => {
        const { runId: current, historyLength } = await workflow.getHandle(long).describe()
        expect(historyLength).toBeLessThan(1000)
        return current === first.runId ? undefined : true
      })
    })
    expect(await session.progress(long)).toMatchObject({ step: 0, groupsReady: 0 })
    isAway = false
    await session.continue(long)
    expect(await session.result(long)).toMatchObject({ phase: 'done', step: 1 })
  }, 120_000)

  it('replays', async () => {
    expect(await replay(await fetchHistories(home))).toEqual([])
  })
})
