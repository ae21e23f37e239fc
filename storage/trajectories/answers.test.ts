/** Answers of models, as the store keeps them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { openStore, type Store } from '../store.ts'
import type { AnswerFault, StoredAnswer } from './answers.ts'

const group = groupId(runId('asked'), 0)
const episode = episodeId(group, 0, 0)
const key = { episode, turn: 2, role: 'judge', number: 0 }
const answer: StoredAnswer = {
  ...key,
  ...{ hash: 'h', messages: [{ role: 'user', content: 'Good?' }], source: 'policy', model: 'asked@0' },
  ...{ text: 'yes', promptTokens: 7, completionTokens: 3, cost: 0.5, seconds: 1.5, created: 11 },
}
const fault: Omit<AnswerFault, 'try'> = {
  ...key,
  ...{ kind: 'bad_answer', reason: 'it cannot be read', created: 12 },
  ...{ promptTokens: 7, completionTokens: null, cost: 0.25, seconds: 1 },
}

let dir: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-answers-'))
  store = await openStore(join(dir, 'store.db'))
  await store.episodes.insert({ id: episode, task: 'echo', instance: 'train/0', created: 1 })
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

// [ANSWERS-1]
it('the first answer to a question is kept, and a later one changes nothing; other places have their own', async () => {
  expect(await store.answers.get(key)).toBeUndefined()
  const both = [store.answers.put(answer), store.answers.put({ ...answer, text: 'no' })]
  expect((await Promise.all(both)).toSorted()).toEqual(['already', 'first'])
  expect(await store.answers.get(key)).toEqual(answer)
  const others = [{ number: 1 }, { role: 'user' }, { turn: 3 }].map((change) => ({ ...answer, ...change }))
  for (const other of others) expect(await store.answers.put(other)).toBe('first')
  expect((await store.answers.list(episode)).map(({ turn, role, number }) => [turn, role, number])).toEqual([
    ...[
      [2, 'judge', 0],
      [2, 'judge', 1],
      [2, 'user', 0],
      [3, 'judge', 0],
    ],
  ])
})

// [ANSWERS-2]
it('faults are numbered by their tries, also where several come at once, and are no answers', async () => {
  await Promise.all([store.answers.addFault(fault), store.answers.addFault({ ...fault, kind: 'timed_out' })])
  await store.answers.addFault({ ...fault, number: 1 })
  expect((await store.answers.faults(episode)).map(({ number, try: tried }) => [number, tried])).toEqual([
    ...[
      [0, 0],
      [0, 1],
      [1, 0],
    ],
  ])
  expect((await store.answers.faults(episode))[0]).toEqual({ ...fault, try: 0 })
  expect(await store.answers.get(key)).toBeUndefined()
})

// [ANSWERS-3]
it('totals add up answers and faults of the groups that are named', async () => {
  await store.answers.put(answer)
  await store.answers.addFault(fault)
  // 7 + 3 tokens of the answer, 7 of the fault; 0.5 and 0.25 for them.
  expect(await store.answers.totals([group])).toEqual({ answers: 1, faults: 1, tokens: 17, cost: 0.75 })
  expect(await store.answers.totals(runId('asked'))).toMatchObject({ answers: 1, tokens: 17 })
  const none = { answers: 0, faults: 0, tokens: 0, cost: 0 }
  expect(await store.answers.totals([groupId(runId('asked'), 1)])).toEqual(none)
  expect(await store.answers.totals([])).toEqual(none)
})

it('they go with the turns of their episode', async () => {
  await store.answers.put(answer)
  await store.answers.addFault(fault)
  await store.episodes.seal(episode, { outcome: 'completed', reward: 1, ended: 20 })
  expect(await store.holdings.release(group, 30)).toBe(1)
  expect([await store.answers.list(episode), await store.answers.faults(episode)]).toEqual([[], []])
})
