import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { openStore } from '../store.ts'
import type { AuditEntry } from './audit.ts'

const run = runId('demo')
const entry: AuditEntry = {
  number: 0,
  time: 5,
  by: 'ada',
  what: 'learning.learningRate',
  from: 0.001,
  to: null,
  version: 3,
  effectVersion: null,
  reason: null,
}

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-audit-'))
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

it('[AUDIT-1] an order is in the trail once; written again it gains its effect, and another under its number is refused', async () => {
  await using store = await openStore(join(dir, 'store.db'))
  await store.audit.put(run, [entry])
  await store.audit.put(run, [{ ...entry, effectVersion: 4 }])
  const other = { ...entry, time: 9, what: 'stop' }
  await expect(store.audit.put(run, [{ ...entry, number: 1 }, other])).rejects.toMatchObject({
    kind: 'conflict',
  })
  // The first writing, tried again late.
  await store.audit.put(run, [entry])
  expect(await store.audit.list(run)).toEqual([{ ...entry, effectVersion: 4 }])
})

it('orders are listed in the order in which they were given, those from outside the run among them', async () => {
  await using store = await openStore(join(dir, 'store.db'))
  const { number: _, ...promotion } = { ...entry, what: 'promote', time: 6 }
  await Promise.all([
    store.audit.put(run, [{ ...entry, number: 1, time: 7 }, entry]),
    store.audit.append(run, promotion),
    store.audit.append(run, promotion),
    store.audit.put(runId('other'), [entry]),
  ])
  const trail = await store.audit.list(run)
  expect(trail.map(({ time, what }) => [time, what])).toEqual([
    [5, entry.what],
    [6, 'promote'],
    [6, 'promote'],
    [7, entry.what],
  ])
  expect(new Set(trail.map(({ number }) => number)).size).toBe(4)
})
