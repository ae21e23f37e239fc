import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHome, type Home } from '../../storage/disk/home.ts'
import { fileIdentity } from '../../storage/sqlite/backend.ts'
import { watchHome } from './session-home.ts'

let folder: string
let home: Home

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-watch-'))
  home = createHome(join(folder, 'home'))
  writeFileSync(home.storeFile, 'the first')
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

it('a home that is deleted is lost, and the message names it [HOME-WATCH-1]', async () => {
  const watch = await watchHome(home, () => fileIdentity(home.storeFile), 5)
  rmSync(home.dir, { recursive: true })
  await expect(watch.lost).rejects.toMatchObject({
    kind: 'missing',
    message: expect.stringContaining(home.storeFile),
  })
  await watch.close()
})

it('a store that another file takes the place of is lost too, and one that is written to is not [HOME-WATCH-1]', async () => {
  const watch = await watchHome(home, () => fileIdentity(home.storeFile), 5)
  writeFileSync(home.storeFile, 'the first, longer')
  const other = join(folder, 'other.db')
  writeFileSync(other, 'the second')
  renameSync(other, home.storeFile)
  await expect(watch.lost).rejects.toThrow('was replaced by another one while it was in use')
  await watch.close()
})
