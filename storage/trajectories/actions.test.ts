/** Actions that several versions sampled, one after another. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { areSpansOf, tokenVersions, type VersionSpan } from '../../learning/run/version-spans.ts'
import { openStore, type Store } from '../store.ts'
import { readSpans, type StoredAction, writtenSpans } from './actions.ts'
import { trajectoryRow } from './trajectory-row.ts'

const episode = episodeId(groupId(runId('spans'), 0), 0, 0)
const spans = [
  { version: 4, tokens: 2 },
  { version: 6, tokens: 1 },
]
const action: StoredAction = {
  ...{ episode, turn: 0, prompt: Int32Array.of(1, 2), tokens: Int32Array.of(7, 8, 9) },
  ...{ logprobs: Float32Array.of(-0.5, -0.25, -1), version: 4, spans, finish: 'stop' },
  ...{ message: { role: 'assistant', content: 'hm' }, problems: [] },
}
const { spans: _, ...plain } = action
const ending = { outcome: 'turn_limit', reward: 0, ended: 99 } as const

let dir: string
let file: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-spans-'))
  file = join(dir, 'store.db')
  store = await openStore(file)
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

async function play(...actions: readonly StoredAction[]): Promise<void> {
  await store.episodes.insert({ id: episode, task: 'alfworld', instance: 'game-1', created: 11 })
  for (const each of actions) await store.actions.put(each)
}

// [ACTION-1]
it('are read back with the version of each token, by training and by an export too', async () => {
  await play(action, { ...plain, turn: 1, version: 7 })
  expect(await store.actions.get(episode, 0)).toEqual(action)
  expect(await store.actions.get(episode, 1)).toEqual({ ...plain, turn: 1, version: 7 })
  const { episode: sealed } = await store.episodes.seal(episode, ending)
  expect(sealed.seal).toMatchObject({ versionMin: 4, versionMax: 7 })
  const trajectory = await store.episodes.trajectory(episode)
  const versions = [-1, -1, 4, 4, 6, -1, -1, 7, 7, 7]
  expect([...trajectory.versions]).toEqual(versions)
  expect(trajectory.turns.map(({ version }) => version)).toEqual([4, 7])
  expect(trajectoryRow(trajectory, null).versions).toEqual(versions)
})

it('count with their newest version too, where an episode says which versions it has', async () => {
  await play(action)
  expect((await store.episodes.seal(episode, ending)).episode.seal).toMatchObject({
    ...{ versionMin: 4, versionMax: 6 },
  })
})

// [TRAJECTORY-2]
it('are part of what is sealed', async () => {
  await play(action)
  await store.episodes.seal(episode, ending)
  const database = new DatabaseSync(file)
  for (const changed of ["'[[4,1],[6,2]]'", 'null']) {
    database.exec(`update actions set spans = ${changed}`)
    await expect(store.episodes.trajectory(episode)).rejects.toMatchObject({ kind: 'corrupt' })
  }
  database.close()
})

// [SPAN-1]
it('that do not cover their action, or do not begin with its version, are refused', async () => {
  for (const wrong of [[], [{ version: 4, tokens: 2 }], [{ version: 5, tokens: 3 }]])
    await expect(store.actions.put({ ...action, spans: wrong })).rejects.toThrow(RangeError)
  await play(action)
  const database = new DatabaseSync(file)
  for (const wrong of ['[[4,2]]', '[[5,3]]', '[]', '[[4,2],[6]]', '{}', 'x']) {
    database.prepare('update actions set spans = ?').run(wrong)
    await expect(store.actions.get(episode, 0), wrong).rejects.toMatchObject({ kind: 'corrupt' })
  }
  database.close()
})

it('are the same when they were written and read, and give each token one version', () => {
  const some = fc.array(fc.record({ version: fc.nat(1e6), tokens: fc.integer({ min: 1, max: 9 }) }), {
    minLength: 1,
  })
  fc.assert(
    fc.property(some, (of: readonly VersionSpan[]) => {
      expect(readSpans(writtenSpans(of), 'it')).toEqual(of)
      const length = of.reduce((sum, { tokens }) => sum + tokens, 0)
      const sampled = { version: of[0]?.version ?? 0, spans: of, tokens: { length } }
      expect(areSpansOf(sampled, of)).toBe(true)
      expect([...tokenVersions(sampled)]).toEqual(
        of.flatMap(({ version, tokens }) => Array.from({ length: tokens }, () => version)),
      )
    }),
  )
})
