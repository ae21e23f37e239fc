import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncLocalStorage, CancelledFailure, type Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createFailureReports } from './failure-reports.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-reports-'))
const run = runId('maze')
let store: Store
beforeAll(async () => {
  store = await openStore(join(home, 'store.db'))
})
afterAll(async () => {
  await store.close()
  rmSync(home, { recursive: true })
})

const said: string[] = []
let problem: Error | undefined
const reports = () => createFailureReports({ failing: store.failing, log: (line) => said.push(line) })
const activities = {
  async updatePolicy(_: { readonly run: string }) {
    if (problem !== undefined) throw problem
    return 'made'
  },
}

/** One attempt of the activity. */
function attempt(number: number, { updatePolicy } = activities): Promise<string | undefined> {
  const context = { info: { attempt: number } } as Context
  return asyncLocalStorage.run(context, () => updatePolicy({ run })).catch(() => undefined)
}
const listed = () => store.failing.list(run, Date.now())

it('[REPORTS-1] [FAILING-WORK-1] the second attempt that fails is reported with its reason, and success removes it', async () => {
  const watched = reports().reporting(activities)
  problem = new Error('no GPU')
  await attempt(1, watched)
  expect(await listed()).toEqual([])
  await attempt(2, watched)
  problem = new Error('still no GPU')
  await attempt(3, watched)
  expect(await listed()).toEqual([
    { work: 'updatePolicy', reason: 'still no GPU', attempt: 3, time: expect.any(Number) },
  ])
  expect(said).toEqual(['maze: the update failed in attempt 2 and is tried again: no GPU'])
  problem = undefined
  expect(await attempt(4, watched)).toBe('made')
  expect(await listed()).toEqual([])
})

it('what is not tried again is reported at once, and [REPORTS-2] a cancellation is not', async () => {
  const watched = reports().reporting(activities)
  problem = new CancelledFailure('stop')
  await attempt(2, watched)
  expect(await listed()).toEqual([])
  problem = ApplicationFailure.nonRetryable('no such tool')
  await attempt(1, watched)
  expect(await listed()).toMatchObject([{ reason: 'no such tool', attempt: 1 }])
  problem = undefined
  await attempt(1, watched)
})

it('a call that has not answered is shown until it ends', async () => {
  const { reportSlow } = reports()
  const ended = reportSlow(run, 'reset of maze on train/7 has not answered for 5 s')
  await expect.poll(listed).toMatchObject([{ work: 'environment', attempt: 0 }])
  ended()
  await expect.poll(listed).toEqual([])
})

it('[FAILING-WORK-2] what was not renewed for ten minutes is not shown', async () => {
  await store.failing.put(run, { work: 'playTurns', reason: 'gone', attempt: 2, time: Date.now() - 601_000 })
  expect(await listed()).toEqual([])
  await store.failing.remove(run)
})
