import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { initialState, type TrainingState } from '../../contract/training-state.ts'
import { groupId, runId } from '../../identity/identity.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { tinyConfig } from '../../test/support/tiny-run.ts'
import { requireKnownOrders, requireKnownWork } from './known-work.ts'

const run = runId('demo')
const group = groupId(run, 3)
const fresh = initialState(run, tinyConfig(), 0)

let dir: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-known-'))
  store = await openStore(join(dir, 'store.db'))
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

describe('a state is stored where the store has the work that it refers to', () => {
  const lacking: readonly (readonly [string, Partial<TrainingState>])[] = [
    ['ready', { ready: [{ number: 3, version: 0 }] }],
    ['training', { training: [{ number: 3, version: 0 }] }],
    ['skipped', { skipped: [{ step: 1, numbers: [3] }] }],
  ]

  it.each(lacking)('[KNOWN-1] a group that is %s must have ended in the store', async (_, part) => {
    const state = { ...fresh, ...part }
    await expect(requireKnownWork(store, state)).rejects.toMatchObject({ kind: 'missing' })
    await store.groups.insert({
      id: group,
      run,
      number: 3,
      task: 'echo',
      instance: 'i',
      version: 0,
      created: 0,
    })
    await expect(requireKnownWork(store, state)).rejects.toMatchObject({ kind: 'missing' })
    await store.groups.complete(group, {
      ...{ status: 'complete', episodes: [], rewards: [], oldestVersion: 0, ended: 1 },
    })
    await requireKnownWork(store, state)
  })
})

it('[KNOWN-1] the update that made the version of a state, and the evaluations that it counts, must be in the store', async () => {
  await expect(requireKnownWork(store, { ...fresh, step: 1 })).rejects.toMatchObject({ kind: 'missing' })
  await store.updates.put({ run, step: 1, version: 1, statistics: {}, groups: [], created: 0 }, [])
  const state = { ...fresh, step: 1 }
  await requireKnownWork(store, state)
  const evaluation = { suite: 'held_out', version: 1, success: 1, n: 1, planned: 1 }
  await expect(requireKnownWork(store, { ...state, evaluations: [evaluation] })).rejects.toMatchObject({
    kind: 'missing',
  })
})

it('[KNOWN-3] an order in the trail that an earlier moment of the workflow had taken must be in its state', async () => {
  const order: AuditEntry = {
    ...{ number: 0, time: 5, by: 'ada', what: 'stop', from: 'training', to: 'now' },
    ...{ version: 3, effectVersion: 3, reason: null },
  }
  await store.audit.put(run, [order])
  await expect(requireKnownOrders(store, fresh, 6)).rejects.toMatchObject({ kind: 'conflict' })
  await requireKnownOrders(store, { ...fresh, orders: 1 }, 6)
  // An order that follows the state is not in it.
  await requireKnownOrders(store, fresh, 5)
})

it('a promotion, which the workflow does not number, is no order that it has lost', async () => {
  const promotion = { time: 1, by: 'ada', what: 'promote', from: null, to: 2, version: 2 }
  await store.audit.append(run, { ...promotion, effectVersion: 2, reason: null })
  await requireKnownOrders(store, fresh, 6)
})
