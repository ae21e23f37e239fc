import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type CheckpointContent, publishCheckpoint } from './checkpoint.ts'
import { checkpointCache } from './checkpoint-cache.ts'
import { tinyArchitecture, tinyWeights } from './policy.testing.ts'

const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(64)) as [string, string, string]

function contentOf(value: number): CheckpointContent {
  const weights = tinyWeights((tensor, element) => value + tensor + element / 8)
  return {
    architecture: tinyArchitecture,
    weights,
    tokenizer: '{"text": "é"}\n',
    state: { version: 0, step: value, chat: 'compact', facts: { statistics: { loss: 0.5 } } },
    optimizer: { step: value, first: weights, second: weights },
  }
}

async function allBytes(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(dir)).sort()
  const bytes = await Promise.all(names.map((name) => readFile(join(dir, name), 'base64')))
  return Object.fromEntries(names.map((name, index) => [name, bytes[index] ?? '']))
}

let root: string
let folder: string
let said: string[]
const log = (line: string) => said.push(line)
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-cache-'))
  folder = join(root, 'cache')
  said = []
  return () => rm(root, { recursive: true })
})

test('what is taken is what was kept, to the byte', async () => {
  // [CACHE-1]
  const made = join(root, 'made')
  await publishCheckpoint(made, contentOf(1))
  const cache = checkpointCache(folder, { log })
  expect(await cache.take(keys[0], join(root, 'taken'))).toBe(false)
  await cache.keep(keys[0], made)
  expect(await cache.take(keys[0], join(root, 'taken'))).toBe(true)
  expect(await allBytes(join(root, 'taken'))).toEqual(await allBytes(made))
  expect(await cache.take(keys[1], join(root, 'other'))).toBe(false)
  expect(said).toEqual([])
})

test.each(['model.safetensors', 'optimizer.safetensors', 'manifest.json'])(
  'an entry whose %s is damaged is named, not taken, and replaced',
  async (name) => {
    // [CACHE-2]
    const made = join(root, 'made')
    await publishCheckpoint(made, contentOf(1))
    const cache = checkpointCache(folder, { log })
    await cache.keep(keys[0], made)
    const file = join(folder, keys[0], name)
    await writeFile(file, (await readFile(file)).subarray(1))
    expect(await cache.take(keys[0], join(root, 'taken'))).toBe(false)
    expect(said).toEqual([expect.stringMatching(`${keys[0]}.*${name}.*made again`)])
    await cache.keep(keys[0], made)
    expect(await cache.take(keys[0], join(root, 'taken'))).toBe(true)
  },
)

test('beyond its bound the entries unused for the longest time go', async () => {
  // [CACHE-3]
  const made = join(root, 'made')
  await publishCheckpoint(made, contentOf(1))
  const sizes = Object.values(await allBytes(made)).map((text) => Buffer.from(text, 'base64').length)
  const two = 2 * sizes.reduce((sum, size) => sum + size, 0)
  const cache = checkpointCache(folder, { log, mostBytes: two })
  for (const key of keys.slice(0, 2)) await cache.keep(key, made)
  const long = new Date(Date.now() - 60_000)
  for (const key of keys.slice(0, 2)) await utimes(join(folder, key), long, long)
  await cache.take(keys[0], join(root, 'taken'))
  await cache.keep(keys[2], made)
  expect((await readdir(folder)).sort()).toEqual([keys[0], keys[2]])
  await checkpointCache(folder, { log, mostBytes: two / 4 }).keep(keys[1], made)
  expect(await readdir(folder)).toHaveLength(2)
})

test('a folder that cannot be written is said, and fails nothing', async () => {
  const made = join(root, 'made')
  await publishCheckpoint(made, contentOf(1))
  await writeFile(folder, 'a file')
  const cache = checkpointCache(folder, { log })
  await cache.keep(keys[0], made)
  expect(said).toEqual([expect.stringContaining('could not be kept')])
  expect(await cache.take(keys[0], join(root, 'taken'))).toBe(false)
})
