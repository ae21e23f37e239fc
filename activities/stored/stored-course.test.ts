import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { initialState } from '../../contract/training-state.ts'
import { groupId, runId } from '../../identity/identity.ts'
import { openStore } from '../../storage/store.ts'
import { tinyConfig } from '../../test/support/tiny-run.ts'
import { storedCourse } from './stored-course.ts'

const run = runId('demo')

it('[STORED-COURSE-1] a stored state offers no group that an update which it counts has consumed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'perdure-course-'))
  try {
    await using store = await openStore(join(dir, 'store.db'))
    const config = tinyConfig()
    await store.runs.insert({ id: run, config, created: 0 })
    for (const number of [0, 1, 2, 3, 4]) {
      const id = groupId(run, number)
      await store.groups.insert({ id, run, number, task: 'echo', instance: 'i', version: 0, created: 0 })
      await store.groups.complete(id, {
        ...{ status: 'complete', episodes: [], rewards: [], oldestVersion: 0, ended: 1 },
      })
    }
    await store.groups.consume([groupId(run, 0), groupId(run, 1)], 1)
    // The update that is made next has taken it, and is found by its step.
    await store.groups.consume([groupId(run, 2)], 2)
    const ready = [0, 2, 3].map((number) => ({ number, version: 0 }))
    const skipped = [{ step: 2, numbers: [1, 4] }]
    const state = { ...initialState(run, config, 0), step: 1, version: 1, ready, skipped }
    await store.runs.publish(run, { version: 1, state })
    const course = await storedCourse(store, run)
    expect(course?.state?.ready.map(({ number }) => number)).toEqual([2, 3])
    expect(course?.state?.skipped).toEqual([{ step: 2, numbers: [4] }])
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
