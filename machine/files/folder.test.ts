import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { makeFolder, probeFolder } from './folder.ts'

const root = mkdtempSync(join(tmpdir(), 'perdure-folder-'))
afterAll(() => rmSync(root, { recursive: true }))
const takesFolders = spawnSync('mkdir', ['/proc/perdure']).status === 0

it('a folder is made with those above it, and making it again changes nothing', () => {
  expect(makeFolder(join(root, 'a', 'b', 'c'))).toBe(join(root, 'a'))
  expect(makeFolder(join(root, 'a', 'b', 'd'))).toBe(join(root, 'a', 'b', 'd'))
  expect(makeFolder(join(root, 'a', 'b'))).toBeUndefined()
})

it('a file in the way is refused', () => {
  writeFileSync(join(root, 'file'), '')
  expect(() => makeFolder(join(root, 'file'))).toThrow('EEXIST')
  expect(() => makeFolder(join(root, 'file', 'below'))).toThrow('ENOTDIR')
})

it.skipIf(process.platform !== 'linux' || takesFolders)(
  '[FOLDER-1] a place that takes no folders is refused at once: /proc',
  () => {
    expect(() => makeFolder('/proc/perdure/below/it')).toThrow('/proc/perdure')
  },
)

it('a probe leaves nothing, where the folder was there and where it was not', () => {
  probeFolder(join(root, 'x', 'y'))
  expect(existsSync(join(root, 'x'))).toBe(false)
  makeFolder(join(root, 'z'))
  probeFolder(join(root, 'z'))
  expect(existsSync(join(root, 'z'))).toBe(true)
})
