import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type EpisodeId, episodeId, groupId, runId } from '../identity/identity.ts'
import { exportRun } from './export.ts'
import { openStore, type Store } from './store.ts'
import { trajectoryColumns } from './trajectories/trajectory-row.ts'

const run = runId('demo')
const group = groupId(run, 0)

let dir: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-export-'))
  store = await openStore(join(dir, 'store.db'))
  await store.runs.insert({ id: run, config: {}, created: 0 })
  await store.groups.insert({ id: group, run, number: 0, task: 'db', instance: 'q', version: 0, created: 0 })
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

const usualText = 'How many? «ünï»'

async function play(id: EpisodeId, turns: number, text = usualText): Promise<void> {
  await store.episodes.insert({ id, task: 'db', instance: 'q', created: 1_700_000_000_000 })
  const messages = [{ role: 'user', content: text }] as const
  await store.observations.put({ episode: id, turn: 0, messages, reward: 0, done: false, info: {} })
  for (let turn = 0; turn < turns; turn++)
    await store.actions.put({
      episode: id,
      turn,
      prompt: Int32Array.of(1, turn),
      tokens: Int32Array.of(5, 6),
      logprobs: Float32Array.of(-0.1, -1e-8),
      version: turn,
      finish: 'stop',
      message: {
        role: 'assistant',
        content: '',
        tool_calls: [
          { name: 'sql', arguments: { [`k${turn}`]: turn, ...(text === usualText ? {} : { [text]: text }) } },
        ],
      },
      problems: [],
    })
  const ended = 1_700_000_001_000
  await store.episodes.seal(
    id,
    turns === 0
      ? { outcome: 'infrastructure_error', reward: null, ended }
      : { outcome: 'completed', reward: 0.5, ended },
  )
}

/** Exports to Parquet and reads it with a reader that is not the writer's. */
async function parquetRows(out: string): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: await asyncBufferFromFile(out) })
}

function jsonRows(out: string): Record<string, unknown>[] {
  return readFileSync(out, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

describe('exportRun', () => {
  it('both formats hold the same rows, one per sealed episode', async () => {
    await play(episodeId(group, 0, 0), 2)
    await play(episodeId(group, 1, 0), 0)
    await store.episodes.insert({ id: episodeId(group, 2, 0), task: 'db', instance: 'q', created: 0 })
    await store.groups.complete(group, {
      status: 'complete',
      episodes: [],
      rewards: [],
      oldestVersion: 0,
      ended: 1,
    })
    await store.groups.consume([group], 3)
    const json = join(dir, 'a', 'run.jsonl')
    const parquet = join(dir, 'a', 'run.parquet')
    expect(await exportRun(store, run, { format: 'jsonl', out: json })).toEqual({
      file: json,
      episodes: 2,
      tokens: 8,
      refused: [],
    })
    await exportRun(store, run, { format: 'parquet', out: parquet })

    const [row, empty] = jsonRows(json)
    expect(Object.keys(row ?? {})).toEqual([...trajectoryColumns])
    expect(row).toEqual({
      episode: 'demo/g0/s0/a0',
      run: 'demo',
      parent: 'demo/g0',
      sample: 0,
      attempt: 0,
      task: 'db',
      instance: 'q',
      update: 3,
      outcome: 'completed',
      reward: 0.5,
      turns: 2,
      action_tokens: 4,
      created: 1_700_000_000_000,
      ended: 1_700_000_001_000,
      messages: [
        { role: 'user', content: 'How many? «ünï»', name: null, tool_calls: [] },
        ...[0, 1].map((turn) => ({
          role: 'assistant',
          content: '',
          name: null,
          tool_calls: [{ type: 'function', function: { name: 'sql', arguments: `{"k${turn}":${turn}}` } }],
        })),
      ],
      answers: [],
      tokens: [1, 0, 5, 6, 1, 1, 5, 6],
      loss_mask: [0, 0, 1, 1, 0, 0, 1, 1],
      logprobs: [0, 0, -0.1, -1e-8, 0, 0, -0.1, -1e-8].map((value) =>
        Number(Math.fround(value).toPrecision(9)),
      ),
      versions: [-1, -1, 0, 0, -1, -1, 1, 1],
      advantages: [],
      advantages_from: null,
    })
    expect(empty).toMatchObject({ outcome: 'infrastructure_error', reward: null, tokens: [] })

    const rows = await parquetRows(parquet)
    const plain = rows.map((one) => ({
      ...one,
      created: Number(one.created),
      ended: Number(one.ended),
      logprobs: Array.from(one.logprobs as number[], (value) => Number(value.toPrecision(9))),
    }))
    expect(plain).toEqual(jsonRows(json))
  })

  it('an episode whose update left no record has no advantages, and says so', async () => {
    await play(episodeId(group, 0, 0), 1)
    await store.groups.complete(group, {
      ...{ status: 'complete', episodes: [], rewards: [], oldestVersion: 0, ended: 1 },
    })
    await store.groups.consume([group], 3)
    const out = join(dir, 'run.jsonl')
    await exportRun(store, run, { format: 'jsonl', out, learnt: async () => 'not kept' })
    expect(jsonRows(out)).toMatchObject([{ update: 3, advantages: [], advantages_from: 'not kept' }])
  })

  it('every 32-bit logprob survives its shortest text', async () => {
    await play(episodeId(group, 0, 0), 1)
    const out = join(dir, 'run.jsonl')
    await exportRun(store, run, { format: 'jsonl', out })
    const [row] = jsonRows(out)
    expect(Float32Array.from(row?.logprobs as number[])).toEqual(Float32Array.of(0, 0, -0.1, -1e-8))
  })

  it.each(['U+0085 \u0085', 'U+2028 \u2028', 'U+2029 \u2029', 'U+000C \f', 'both ends \r\n'])(
    'no reader of lines finds the end of a line within a row: %j',
    async (text) => {
      await play(episodeId(group, 0, 0), 1, text)
      const out = join(dir, 'run.jsonl')
      await exportRun(store, run, { format: 'jsonl', out })
      const lines = readFileSync(out, 'utf8').split(/[\n\v\f\r\u0085\u2028\u2029]/)
      expect(lines).toHaveLength(2)
      expect(jsonRows(out)).toMatchObject([{ messages: [{ content: text }, {}] }])
    },
  )

  it('a surrogate without its pair is U+FFFD in both formats, in texts, arguments and their names', async () => {
    const text = 'cut \ud83d, \udc00, a pair 😀, and a backslash before one: \\\ud83d \\ud83d'
    await play(episodeId(group, 0, 0), 1, text)
    const json = join(dir, 'run.jsonl')
    const parquet = join(dir, 'run.parquet')
    await exportRun(store, run, { format: 'jsonl', out: json })
    await exportRun(store, run, { format: 'parquet', out: parquet })
    const [row] = jsonRows(json)
    const messages = [
      { content: text.toWellFormed() },
      {
        tool_calls: [
          { function: { arguments: JSON.stringify({ k0: 0, [text.toWellFormed()]: text.toWellFormed() }) } },
        ],
      },
    ]
    expect(row).toMatchObject({ messages })
    expect(await parquetRows(parquet)).toMatchObject([{ messages }])
  })

  it('an episode that fails its checksum is left out and named, the others are exported', async () => {
    await play(episodeId(group, 0, 0), 1)
    await play(episodeId(group, 1, 0), 1)
    const database = new DatabaseSync(store.file)
    database.exec("update actions set version = 9 where episode = 'demo/g0/s0/a0'")
    database.close()
    const result = await exportRun(store, run, { format: 'parquet', out: join(dir, 'run.parquet') })
    expect(result.episodes).toBe(1)
    expect(result.refused).toMatchObject([{ episode: 'demo/g0/s0/a0' }])
    expect(await parquetRows(result.file)).toHaveLength(1)
  })

  it('memory is bounded by row groups: a large export has several, and all rows', async () => {
    for (let sample = 0; sample < 130; sample++) await play(episodeId(group, sample, 0), 1)
    const id = episodeId(group, 200, 0)
    await store.episodes.insert({ id, task: 'db', instance: 'q', created: 0 })
    const tokens = new Int32Array(300_000)
    await store.actions.put({
      episode: id,
      turn: 0,
      prompt: tokens,
      tokens: new Int32Array(0),
      logprobs: new Float32Array(0),
      version: 0,
      finish: 'stop',
      message: { role: 'assistant', content: '' },
      problems: [],
    })
    await store.episodes.seal(id, { outcome: 'completed', reward: 0, ended: 1 })
    await play(episodeId(group, 300, 0), 1)
    const out = join(dir, 'run.parquet')
    const progress: number[] = []
    await exportRun(store, run, { format: 'parquet', out }, (episodes) => progress.push(episodes))
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(out))
    expect(metadata.row_groups.length).toBeGreaterThan(1)
    expect(Number(metadata.num_rows)).toBe(132)
    expect(progress).toEqual([64, 128, 132, 132])
  })

  it('a run without episodes gives a file without rows', async () => {
    for (const format of ['jsonl', 'parquet'] as const)
      expect(await exportRun(store, run, { format, out: join(dir, `run.${format}`) })).toMatchObject({
        episodes: 0,
      })
    expect(await parquetRows(join(dir, 'run.parquet'))).toEqual([])
  })

  it('an export that fails leaves no half file, and an unknown run is named', async () => {
    await play(episodeId(group, 0, 0), 1)
    const failing = {
      ...store,
      episodes: { ...store.episodes, page: async () => Promise.reject(new Error('lost')) },
    }
    for (const format of ['jsonl', 'parquet'] as const)
      await expect(exportRun(failing, run, { format, out: join(dir, 'run.out') })).rejects.toThrow('lost')
    expect(readdirSync(dir).filter((name) => !name.startsWith('store.db'))).toEqual([])
    const out = join(dir, 'x')
    await expect(exportRun(store, runId('none'), { format: 'jsonl', out })).rejects.toMatchObject({
      kind: 'missing',
    })
  })
})
