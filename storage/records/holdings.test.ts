/** Holdings: what trajectories weigh, and that giving them up is whole, lasting and no loss of what they were. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type EpisodeId,
  episodeId,
  evaluationId,
  type GroupId,
  groupId,
  runId,
} from '../../identity/identity.ts'
import { openStore, type Store } from '../store.ts'

const run = runId('demo')
let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-holdings-'))
  store = await openStore(join(folder, 'store.db'))
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

async function play(id: EpisodeId, words = 'hello', isSealed = true): Promise<void> {
  await store.episodes.insert({ id, task: 'echo', instance: '0', created: 1 })
  const messages = [{ role: 'user' as const, content: words }]
  await store.observations.put({ episode: id, turn: 0, messages, reward: 0, done: false, info: {} })
  await store.actions.put({
    episode: id,
    turn: 0,
    prompt: Int32Array.of(1, 2),
    tokens: Int32Array.of(3),
    logprobs: Float32Array.of(-1),
    version: 0,
    finish: 'stop',
    message: { role: 'assistant', content: 'yes' },
    problems: [],
  })
  if (isSealed) await store.episodes.seal(id, { outcome: 'completed', reward: 1, ended: 5 })
}

async function playGroup(number: number, words?: string): Promise<GroupId> {
  const group = groupId(run, number)
  await store.groups.insert({ id: group, run, number, task: 'echo', instance: '0', version: 0, created: 1 })
  const episodes = [episodeId(group, 0, 0), episodeId(group, 1, 0)]
  for (const episode of episodes) await play(episode, words)
  const result = { status: 'complete' as const, episodes, rewards: [1, 1], oldestVersion: 0, ended: 7 }
  await store.groups.complete(group, result)
  return group
}

it('tells size and use of the trajectories of each group and evaluation', async () => {
  const consumed = await playGroup(0)
  const waiting = await playGroup(1)
  await store.groups.consume([consumed], 3)
  const evaluation = evaluationId(run, 'few', 0, 1)
  await store.evaluations.insert({ id: evaluation, run, suite: 'few', version: 0, seed: 1, created: 1 })
  await play(episodeId(evaluation, 0, 0))
  const bytes = expect.any(Number)
  const found = await store.holdings.trajectories(run)
  expect(found.toSorted((a, b) => (a.parent < b.parent ? -1 : 1))).toEqual([
    { parent: evaluation, episodes: 1, bytes, ended: null, use: 'playing' },
    { parent: consumed, episodes: 2, bytes, ended: 7, use: { consumedBy: 3 } },
    { parent: waiting, episodes: 2, bytes, ended: 7, use: 'waiting' },
  ])
  for (const holding of found) expect(holding.bytes).toBeGreaterThan(16)
})

it('gives up what was observed and done, and keeps what the episode was', async () => {
  const group = await playGroup(0)
  const episode = episodeId(group, 0, 0)
  const before = await store.episodes.get(episode)
  expect(await store.holdings.release(group, 1000)).toBe(2)
  expect(await store.episodes.get(episode)).toEqual({ ...before, released: 1000 })
  await expect(store.episodes.trajectory(episode)).rejects.toMatchObject({
    kind: 'missing',
    message: expect.stringContaining('deleted by retention on 1970-01-01'),
  })
  expect(await store.episodes.page(run, '', 10)).toEqual([])
  expect(await store.holdings.trajectories(run)).toEqual([])
})

it('gives up once, and an episode that is still played keeps what it has', async () => {
  const group = await playGroup(0)
  const late = episodeId(group, 2, 0)
  await play(late, 'late', false)
  await store.holdings.release(group, 1000)
  expect(await store.holdings.release(group, 2000)).toBe(0)
  expect(await store.episodes.get(episodeId(group, 0, 0))).toMatchObject({ released: 1000 })
  await store.episodes.seal(late, { outcome: 'completed', reward: 1, ended: 5 })
  expect((await store.episodes.trajectory(late)).messages).toHaveLength(2)
})

it('gives the room back to the disk', async () => {
  const groups = [await playGroup(0, 'x'.repeat(2_000_000)), await playGroup(1, 'kept')]
  await store.holdings.shrink()
  const before = statSync(store.file).size
  await store.holdings.release(groups[0] ?? '', 1)
  expect(await store.holdings.shrink()).toBeGreaterThan(3_000_000)
  expect(statSync(store.file).size).toBeLessThan(before - 3_000_000)
  expect(await store.holdings.trajectories(run)).toHaveLength(1)
})
