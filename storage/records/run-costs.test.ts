import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { openStore } from '../store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-run-costs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const [run, other] = [runId('run'), runId('other')]

// [COST-OF-VERSION-1]
it('a version keeps the time and the cost of its first publication', async () => {
  await using store = await openStore(join(folder, 'store.db'))
  expect(await store.costs.publish(run, 0, 1000)).toBe('first')
  await store.costs.add(run, 2.5)
  expect(await store.costs.publish(run, 1, 3000)).toBe('first')
  await store.costs.add(run, 4)
  expect(await store.costs.publish(run, 1, 9000)).toBe('already')
  expect([...(await store.costs.published(run))]).toEqual([
    [0, { at: 1000, cpuSeconds: 0 }],
    [1, { at: 3000, cpuSeconds: 2.5 }],
  ])
  expect(await store.costs.published(other)).toEqual(new Map())
})
