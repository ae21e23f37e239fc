import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { createHome, createRunDirectory } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { discardCheckpoints } from './retention.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-discarded-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

// [DISCARDED-1]
it('checkpoints newer than any update in the store are moved aside, and the others stay', async () => {
  const home = createHome(folder)
  const run = runId('a')
  await using store = await openStore(home.storeFile)
  const { checkpointDir } = createRunDirectory(home, run)
  for (const version of [0, 1, 2, 3]) mkdirSync(checkpointDir(version))
  await store.updates.put({ run, step: 1, version: 1, statistics: {}, groups: [], created: 0 }, [])
  await discardCheckpoints(home, store, { run })
  expect([0, 1, 2, 3].filter((version) => existsSync(checkpointDir(version)))).toEqual([0, 1])
  expect(readdirSync(home.asideDir).toSorted()).toEqual(['a-checkpoint-2', 'a-checkpoint-3'])
})
