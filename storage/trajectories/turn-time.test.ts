import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { openStore, type Store } from '../store.ts'
import type { StoredAction } from './actions.ts'
import type { StoredObservation } from './observations.ts'
import { turnTimeOf } from './turn-time.ts'

const group = groupId(runId('timed'), 0)
const [quick, slow] = [episodeId(group, 0, 0), episodeId(group, 1, 0)]
const observation = { turn: 0, messages: [], reward: 1, done: true, info: {} }
const action = {
  turn: 0,
  prompt: Int32Array.of(1),
  tokens: Int32Array.of(2),
  logprobs: Float32Array.of(-0.5),
  version: 0,
  finish: 'stop',
  message: { role: 'assistant', content: '' },
  problems: [],
} as const

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-turn-time-'))
  store = await openStore(join(folder, 'store.db'))
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

async function times(of: typeof quick) {
  const rows = [...(await store.observations.rows(of)), ...(await store.actions.rows(of))]
  return rows.map(turnTimeOf)
}

// [TURNTIME-1]
test('the first writer’s time is stored beside a turn, and is no part of what was played', async () => {
  const played: [StoredObservation, StoredAction] = [
    { ...observation, episode: quick },
    { ...action, episode: quick },
  ]
  await store.episodes.insert({ id: quick, task: 'echo', instance: 'i', created: 1 })
  await store.observations.put(played[0], { seconds: 0.25, attempt: 1 })
  await store.actions.put(played[1], { seconds: 2.5, attempt: 3 })
  await store.observations.put(played[0], { seconds: 9, attempt: 2 })
  await store.actions.put(played[1], { seconds: 9, attempt: 4 })
  expect(await times(quick)).toEqual([
    { seconds: 0.25, attempt: 1 },
    { seconds: 2.5, attempt: 3 },
  ])
  expect([await store.observations.get(quick, 0), await store.actions.get(quick, 0)]).toEqual(played)
})

// [TURNTIME-1]
test('a seal holds whatever times stand beside the turns', async () => {
  await store.episodes.insert({ id: slow, task: 'echo', instance: 'i', created: 1 })
  await store.observations.put({ ...observation, episode: slow })
  await store.actions.put({ ...action, episode: slow }, { seconds: 7, attempt: 1 })
  await store.episodes.seal(slow, { outcome: 'completed', reward: 1, ended: 2 })
  expect(await times(slow)).toEqual([undefined, { seconds: 7, attempt: 1 }])
  expect((await store.episodes.trajectory(slow)).tokens).toEqual(Int32Array.of(1, 2))
  const untimed = episodeId(group, 1, 1)
  await store.episodes.insert({ id: untimed, task: 'echo', instance: 'i', created: 1 })
  await store.observations.put({ ...observation, episode: untimed })
  await store.actions.put({ ...action, episode: untimed })
  await store.episodes.seal(untimed, { outcome: 'completed', reward: 1, ended: 2 })
  expect((await store.episodes.trajectory(untimed)).tokens).toEqual(Int32Array.of(1, 2))
})
