import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { contentDigest } from './content-digest.ts'

const dir = mkdtempSync(join(tmpdir(), 'perdure-digest-'))
afterAll(() => rmSync(dir, { recursive: true }))

function tree(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(dir, name)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

it('[DIGEST-1] every name and every byte of a tree counts, and nothing else does', async () => {
  const plain = { 'a.txt': 'one', 'in/b.txt': 'two' }
  const same = await contentDigest([tree('same', plain)])
  expect(await contentDigest([tree('plain', plain)])).toBe(same)
  utimesSync(join(dir, 'plain', 'a.txt'), 1, 1)
  tree('plain', { '.git/x': '1', 'node_modules/p/index.js': '2', 'home/store.db': '3', 'home/log': '4' })
  symlinkSync(join(dir, 'plain'), join(dir, 'plain', 'in', 'up'))
  expect(await contentDigest([join(dir, 'plain')])).toBe(same)
  const others = [
    tree('changed', { ...plain, 'a.txt': 'owe' }),
    tree('renamed', { 'a.txt': 'one', 'in/c.txt': 'two' }),
    tree('moved', { 'a.txt': 'onetwo', 'in/b.txt': '' }),
    tree('more', { ...plain, 'c.txt': '' }),
    join(dir, 'missing'),
  ]
  const digests = await Promise.all(others.map((folder) => contentDigest([folder])))
  expect(new Set([same, ...digests]).size).toBe(others.length + 1)
})

it('a tree over the limit counts by the time of change of its files', async () => {
  const folder = tree('large', { 'a.txt': 'one' })
  const before = await contentDigest([folder], 2)
  expect(await contentDigest([folder], 2)).toBe(before)
  for (
    let text = 'two';
    (await contentDigest([folder], 2)) === before;
    text = `${text[1]}${text[2]}${text[0]}`
  )
    writeFileSync(join(folder, 'a.txt'), text)
  expect(await contentDigest([folder], 2)).not.toBe(before)
})
