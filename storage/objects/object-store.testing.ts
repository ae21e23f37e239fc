/** The contract of a store of objects, as tests that each implementation passes. */
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ObjectStore } from './object-store.ts'

const text = (words: string): Uint8Array => Buffer.from(words)

/** Bytes that no two places of the file share, and no compression shortens. */
export function largeBytes(size: number, seed: string): Buffer {
  const block = createHash('shake256', { outputLength: 1 << 20 })
    .update(seed)
    .digest()
  const bytes = Buffer.alloc(size)
  for (let start = 0, count = 0; start < size; start += block.length, count += 1) {
    bytes.set(block.subarray(0, Math.min(block.length, size - start)), start)
    bytes.writeUInt32LE(count, Math.min(start, size - 4))
  }
  return bytes
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** @param open makes an empty store; each test uses keys of its own */
export function describeObjectStore(name: string, open: () => Promise<ObjectStore>): void {
  describe(`objects in ${name}`, () => {
    const opened: Partial<Opened> = {}
    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'perdure-objects-'))
      Object.assign(opened, { folder, store: await open() })
    })
    afterAll(() => rm(opened.folder ?? '', { recursive: true, force: true }))
    // Each test begins after the store is open.
    testPutting(opened as Opened)
    testFinding(opened as Opened)
  })
}

interface Opened {
  readonly store: ObjectStore
  readonly folder: string
}

function testPutting(opened: Opened): void {
  // [OBJECT-2]
  test('what is put comes back byte for byte, with its size and SHA-256', async () => {
    const { folder, store } = opened
    for (const [key, bytes] of [
      ['round/one.json', text('{"version":3}')],
      ['round/empty', text('')],
    ] as const) {
      const digest = { size: bytes.byteLength, sha256: sha256Of(bytes) }
      const file = join(folder, 'new', key)
      expect(await store.putOnce(key, bytes)).toEqual(digest)
      expect(await store.head(key)).toEqual(digest)
      expect(await store.get(key, file, digest)).toEqual(digest)
      expect(new Uint8Array(await readFile(file))).toEqual(new Uint8Array(bytes))
    }
  })

  // [OBJECT-1]
  test('equal content is put twice without a word, other content is refused and the first stays', async () => {
    const { store } = opened
    await store.putOnce('once/manifest.json', text('first'))
    await store.putOnce('once/manifest.json', text('first'))
    await expect(store.putOnce('once/manifest.json', text('other'))).rejects.toMatchObject({
      name: 'ObjectFault',
      kind: 'conflict',
      permanent: true,
    })
    expect(await store.head('once/manifest.json')).toEqual({ size: 5, sha256: sha256Of(text('first')) })
  })

  // [OBJECT-1]
  test('of sixteen writers with contents of their own, one succeeds and all others get a conflict', async () => {
    const { store } = opened
    const writers = Array.from({ length: 16 }, (_, writer) => text(`writer ${writer}`))
    const ends = await Promise.allSettled(writers.map((bytes) => store.putOnce('race/one', bytes)))
    const winners = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
    expect(winners).toHaveLength(1)
    expect(await store.head('race/one')).toEqual(winners[0])
    for (const end of ends) if (end.status === 'rejected') expect(end.reason.kind).toBe('conflict')
  })

  // [OBJECT-1] [OBJECT-2]
  test('a file of more than sixteen megabytes is put, read and compared as a small one', async () => {
    const { folder, store } = opened
    const bytes = largeBytes(17 * 1024 * 1024 + 3, 'large')
    const [source, file] = [join(folder, 'source'), join(folder, 'target')]
    await writeFile(source, bytes)
    const digest = { size: bytes.length, sha256: sha256Of(bytes) }
    expect(await store.putOnce('large/model.safetensors', source)).toEqual(digest)
    expect(await store.putOnce('large/model.safetensors', source)).toEqual(digest)
    await writeFile(file, 'an older file')
    expect(await store.get('large/model.safetensors', file, digest)).toEqual(digest)
    expect(bytes.equals(await readFile(file))).toBe(true)
    await writeFile(source, largeBytes(bytes.length, 'other'))
    await expect(store.putOnce('large/model.safetensors', source)).rejects.toMatchObject({
      kind: 'conflict',
    })
  })
}

function testFinding(opened: Opened): void {
  // [OBJECT-2]
  test('an object that is missing, or is not the expected one, leaves the target as it was', async () => {
    const { folder, store } = opened
    const target = join(folder, 'kept', 'file')
    await store.putOnce('kept/file', text('these bytes'))
    await store.get('kept/file', target)
    const expected = { size: 11, sha256: sha256Of(text('those bytes')) }
    await expect(store.get('kept/file', target, expected)).rejects.toMatchObject({ kind: 'corrupt' })
    await expect(store.get('kept/nothing', target)).rejects.toMatchObject({ kind: 'missing' })
    expect(await store.head('kept/nothing')).toBeUndefined()
    expect(await readFile(target, 'utf8')).toBe('these bytes')
    expect(await readdir(join(folder, 'kept'))).toEqual(['file'])
  })

  test('a list names what is under its prefix, in the order of the keys', async () => {
    const { store } = opened
    for (const key of ['list/a/10/x', 'list/a/1/y', 'list/a/1/b/z', 'list/a.json'])
      await store.putOnce(key, text(key))
    expect(await store.list('list/a/1/')).toEqual([
      { key: 'list/a/1/b/z', size: 12 },
      { key: 'list/a/1/y', size: 10 },
    ])
    expect((await store.list('list/')).map(({ key }) => key)).toEqual([
      'list/a.json',
      'list/a/1/b/z',
      'list/a/1/y',
      'list/a/10/x',
    ])
    expect(await store.list('list/none/')).toEqual([])
  })

  test('a deleted object is gone, and may be put again', async () => {
    const { store } = opened
    await store.putOnce('gone/one', text('first'))
    await store.delete('gone/one')
    await store.delete('gone/one')
    expect(await store.head('gone/one')).toBeUndefined()
    await store.putOnce('gone/one', text('second'))
    expect(await store.head('gone/one')).toMatchObject({ size: 6 })
  })

  // [OBJECT-4]
  test('keys that could lead out of the store are refused by each call', async () => {
    const { folder, store } = opened
    for (const key of [
      '../x',
      'a/../b',
      '/a',
      'a//b',
      'a/',
      '.hidden',
      'a/.partial',
      '',
      'a\\b',
      'a\0',
      'a'.repeat(701),
    ]) {
      const file = join(folder, 'never')
      await expect(store.putOnce(key, text('x'))).rejects.toMatchObject({ kind: 'bad_key' })
      await expect(store.get(key, file)).rejects.toMatchObject({ kind: 'bad_key' })
      await expect(store.head(key)).rejects.toMatchObject({ kind: 'bad_key' })
      await expect(store.delete(key)).rejects.toMatchObject({ kind: 'bad_key' })
    }
    for (const prefix of ['..', '../', 'a', '/'])
      await expect(store.list(prefix)).rejects.toMatchObject({ kind: 'bad_key' })
  })

  test('a probe passes and leaves nothing', async () => {
    const { store } = opened
    const before = await store.list('')
    await store.probe()
    expect(await store.list('')).toEqual(before)
    expect(await store.sweep(0)).toBe(0)
  })
}
