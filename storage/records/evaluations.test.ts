import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { evaluationId, runId } from '../../identity/identity.ts'
import { openStore, type Store } from '../store.ts'

const run = runId('demo')
const id = evaluationId(run, 'held_out', 4, 1)
const evaluation = { id, run, suite: 'held_out', version: 4, seed: 1, created: 8 }
const lost = { infrastructure_error: 35 }
const few = { success: 1, n: 5, planned: 40, lost, episodes: [], statistics: {}, ended: 9 }
let dir: string
let store: Store

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-evaluations-'))
  store = await openStore(join(dir, 'store.db'))
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

it('an incomplete result is kept until the evaluation was played again, and then replaced by the new one', async () => {
  await store.evaluations.insert(evaluation)
  await store.evaluations.complete(id, few)
  expect(await store.evaluations.get(id)).toEqual({ ...evaluation, result: few })

  await store.evaluations.insert({ ...evaluation, created: 10 })
  expect(await store.evaluations.get(id)).toMatchObject({ isPlayedAgain: true, result: { n: 5, lost } })
  expect(await store.evaluations.unfinished(run, 10)).toEqual([4])
  await store.evaluations.fail(id, 'the worker went away')
  expect(await store.evaluations.get(id)).toEqual({
    ...evaluation,
    created: 10,
    result: { ...few, ended: 10 },
  })

  await store.evaluations.insert({ ...evaluation, created: 11 })
  const all = { ...few, success: 0.5, n: 40, lost: {}, ended: 12 }
  expect(await store.evaluations.complete(id, all)).toBe('first')
  expect(await store.evaluations.complete(id, few)).toBe('already')
  expect(await store.evaluations.get(id)).toEqual({ ...evaluation, created: 11, result: all })
  const { found } = await store.evaluations.findings(run)
  expect(found).toEqual([{ suite: 'held_out', version: 4, success: 0.5, n: 40, planned: 40, lost: {} }])
})

it('a complete result is kept, even when the evaluation is begun or completed again', async () => {
  const all = { ...few, n: 38, lost: { infrastructure_error: 2 } }
  await store.evaluations.insert(evaluation)
  await store.evaluations.complete(id, all)
  await store.evaluations.insert({ ...evaluation, created: 10 })
  expect(await store.evaluations.complete(id, few)).toBe('already')
  expect(await store.evaluations.get(id)).toEqual({ ...evaluation, result: all })
})
