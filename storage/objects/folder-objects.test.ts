import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { folderObjects } from './folder-objects.ts'
import { describeObjectStore } from './object-store.testing.ts'

const folders: string[] = []
afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-objects-'))
  folders.push(folder)
  return folder
}

// The contract: [OBJECT-1] [OBJECT-2] [OBJECT-4]
describeObjectStore('a folder', async () => folderObjects(await newFolder()))

// [OBJECT-3]
test('what a killed writer left is no object, and is swept once it is old', async () => {
  const root = await newFolder()
  const store = folderObjects(root)
  await mkdir(join(root, 'runs'))
  for (const name of ['.old.partial', '.young.partial']) await writeFile(join(root, 'runs', name), 'half')
  const anHourAgo = new Date(Date.now() - 3_600_000)
  await utimes(join(root, 'runs', '.old.partial'), anHourAgo, anHourAgo)
  expect(await store.list('')).toEqual([])
  expect(await store.sweep(1_800_000)).toBe(1)
  expect(await readdir(join(root, 'runs'))).toEqual(['.young.partial'])
})

test('a disk that refuses is named with the file', async () => {
  const root = await newFolder()
  await writeFile(join(root, 'runs'), 'a file where a folder is needed')
  await expect(folderObjects(root).putOnce('runs/one', new Uint8Array(1))).rejects.toMatchObject({
    name: 'StorageFault',
    kind: 'not_a_directory',
    message: expect.stringContaining('runs'),
  })
})
