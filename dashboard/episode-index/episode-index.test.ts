import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { episodeId, groupId, type RunId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { parseFilter } from '../contract/episode-filter.ts'
import { addEpisode, addRun, type FilledHome, openFilledHome } from '../filled-home.testing.ts'
import { type EpisodeIndex, openEpisodeIndex } from './episode-index.ts'
import { wordsOf } from './filling.ts'

let home: FilledHome
let looked: Store
let cache: string
let run: RunId
const all = { sort: 'created', descending: false, offset: 0, limit: 500, mark: undefined } as const

beforeAll(async () => {
  home = await openFilledHome()
  cache = mkdtempSync(join(tmpdir(), 'perdure-cache-'))
  run = await addRun(home, 'first')
  for (let number = 0; number < 12; number++)
    await addEpisode(home, {
      id: episodeId(groupId(run, number), number % 3, 0),
      task: number % 2 === 0 ? 'kg' : 'db',
      instance: `i${number % 4}`,
      won: number % 3 === 0,
      version: number,
      created: 1000 + ((7 * number) % 12),
      text: `There is shelf ${number} and a Soapbar_${number % 2}.`,
      words: Array.from({ length: 1 + (number % 5) }, (_, turn) => `take ${turn}`),
      isSealed: number !== 11,
    })
  looked = await openStore(homeAt(home.dir).storeFile, { access: 'look' })
})

afterAll(async () => {
  await looked.close()
  await home[Symbol.asyncDispose]()
  rmSync(cache, { recursive: true, force: true })
})

function open(): EpisodeIndex {
  const { storeFile } = homeAt(home.dir)
  return openEpisodeIndex({ store: storeFile, scope: looked.leases.scope, feed: looked.feed, folder: cache })
}

function found(index: EpisodeIndex, filter: string): readonly string[] {
  const read = parseFilter(filter)
  if ('fault' in read) throw new Error(read.fault.message)
  const { rows, total } = index.find(read.terms, all, () => [groupId(run, 5)])
  expect(total).toBe(rows.length)
  return rows
    .map(({ episode }) => /g(\d+)/.exec(episode)?.[1] ?? '')
    .toSorted((a, b) => Number(a) - Number(b))
}

async function filled(index: EpisodeIndex): Promise<void> {
  await index.refresh()
  while (index.state().indexed < index.state().episodes) await new Promise(setImmediate)
}

describe('a filter', () => {
  // [EPISODE-INDEX-1]
  test.each([
    ['task:kg', ['0', '2', '4', '6', '8', '10']],
    ['task:kg,db instance:i1', ['1', '5', '9']],
    ['is:won', ['0', '3', '6', '9']],
    ['is:lost turns>=5', ['4']],
    ['is:running', ['11']],
    ['-outcome:completed', ['1', '2', '4', '5', '7', '8', '10', '11']],
    ['reward<0 turns<2', ['5', '10']],
    ['version:7', ['7']],
    ['version>8 is:ended', ['9', '10']],
    ['update:3', ['5']],
    ['group:first/g4', ['4']],
    ['kind:evaluation', []],
    ['shelf "soapbar_1" -turns:1', ['1', '3', '7', '9']],
    ['soap is:won', ['0', '3', '6', '9']],
    ['"soap"', []],
    ['"take 4"', ['4', '9']],
    ['tested', []],
    ['-shelf', ['11']],
    ['!!', []],
    [`'; drop table episodes; --`, []],
    ['shelf" OR "x', []],
  ])('%s', async (filter, groups) => {
    await using index = open()
    await filled(index)
    expect(found(index, filter)).toEqual(groups)
  })

  // [QUESTION-1]
  test('no text of a filter breaks a question', async () => {
    await using index = open()
    await filled(index)
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const read = parseFilter(text)
        if ('terms' in read) index.find(read.terms, all, () => [])
      }),
    )
    expect(found(index, '')).toHaveLength(12)
  })
})

// [EPISODE-INDEX-1]
test('rows are sorted, cut into stretches, and of one mark stay in their places while others come', async () => {
  await using index = open()
  await filled(index)
  const ask = (offset: number, mark?: number) =>
    index.find([], { sort: 'created', descending: true, offset, limit: 5, mark }, () => [])
  const first = ask(0)
  const times = first.rows.map(({ created }) => created)
  expect(times).toEqual([1011, 1010, 1009, 1008, 1007])
  await addEpisode(home, { id: episodeId(groupId(run, 50), 0, 0), created: 5000 })
  await index.refresh()
  expect(ask(5, first.mark).rows.map(({ created }) => created)).toEqual([1006, 1005, 1004, 1003, 1002])
  expect(ask(0, first.mark).total).toBe(12)
  expect(ask(0).rows[0]?.created).toBe(5000)
})

// [FILLING-1]
test('an episode that was played is taken in again when it has ended, and its words then', async () => {
  await using index = open()
  await filled(index)
  const id = episodeId(groupId(run, 11), 2, 0)
  expect(index.played(run, 10)).toMatchObject({ count: 1, rows: [{ episode: id, outcome: null }] })
  await home.store.episodes.seal(id, { outcome: 'completed', reward: 1, ended: 9000 })
  await filled(index)
  expect(index.played(run, 10).count).toBe(0)
  expect(found(index, '"shelf 11" is:won')).toEqual(['11'])
  expect(index.endedSince(8999, 5).map(({ episode }) => episode)).toEqual([id])
})

// [INDEX-FILE-1]
test('a file that is damaged, or of another store, is rebuilt', async () => {
  const [name = ''] = readdirSync(cache).filter((each) => each.endsWith('.db'))
  writeFileSync(join(cache, name), 'no database at all')
  {
    await using index = open()
    await filled(index)
    expect(found(index, 'task:kg').length).toBe(6)
  }
  const { storeFile } = homeAt(home.dir)
  await using other = openEpisodeIndex({
    store: storeFile,
    scope: 'another',
    feed: looked.feed,
    folder: cache,
  })
  expect(other.state()).toEqual({ indexed: 0, episodes: 0 })
})

test('where the cache cannot be written, the index lies elsewhere until it is closed', async () => {
  const { storeFile } = homeAt(home.dir)
  const folder = join(cache, 'a file')
  writeFileSync(folder, '')
  await using index = openEpisodeIndex({
    store: storeFile,
    scope: looked.leases.scope,
    feed: looked.feed,
    folder,
  })
  await filled(index)
  expect(found(index, 'is:won').length).toBeGreaterThan(3)
})

test('words are bounded, and what cannot be read has none', () => {
  const long = JSON.stringify([{ role: 'user', content: 'word '.repeat(100_000) }])
  expect(wordsOf({ observations: [long, '{'], actions: ['null', '[]'] }).length).toBeLessThanOrEqual(
    64 * 1024 + 8,
  )
  expect(
    wordsOf({
      observations: [
        JSON.stringify([
          { role: 'system', content: 'rules' },
          { role: 'user', content: 'Hi' },
        ]),
      ],
      actions: [
        JSON.stringify({
          role: 'assistant',
          content: '',
          tool_calls: [{ name: 'go', arguments: { to: ['a', 2] } }],
        }),
      ],
    }),
  ).toBe('Hi\n\ngo a 2')
})
