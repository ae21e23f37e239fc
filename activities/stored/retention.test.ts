/** Retention of a run on disk: what is there is seen as it is, and what goes is gone whole. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { evaluationId, runId } from '../../identity/identity.ts'
import { promotionFile } from '../../policy/checkpoints/promotion.ts'
import { createHome, createRunDirectory, type RunDirectory } from '../../storage/disk/home.ts'
import { planRetention } from '../../storage/records/retention.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { holdingsOf, remove, retentionPolicy } from './retention.ts'

const run = runId('demo')
const config = configSchema.parse({ training: { keepCheckpoints: 2 }, retention: { batches: 1 } })
let folder: string
let store: Store
let directory: RunDirectory

const idle = { version: 9, pool: [], inFlight: [], evaluating: [], rollBackTo: null, pinned: [] }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-retention-'))
  const home = createHome(folder)
  store = await openStore(home.storeFile)
  directory = createRunDirectory(home, run)
  await store.runs.insert({ id: run, config, created: 1 })
  for (const name of ['warm-0', ...Array.from({ length: 10 }, (_, version) => String(version))]) {
    mkdirSync(join(directory.checkpointsDir, name))
    writeFileSync(join(directory.checkpointsDir, name, 'manifest.json'), 'x'.repeat(100))
  }
  for (const name of ['demonstrations', 'corrections-2', '8', '8.tokens', '9', '9.tokens', '10'])
    writeFileSync(join(directory.batchesDir, `${name}.safetensors`), 'xx')
  for (const step of [8, 9]) {
    await store.updates.put({ run, step, version: step, statistics: {}, groups: [], created: 1 }, [])
  }
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

async function publish(state: object): Promise<void> {
  await store.runs.publish(run, { version: 9, state })
}

async function clean(): Promise<number> {
  const place = { run, store, directory }
  const plan = planRetention(await holdingsOf(place), retentionPolicy(config), Date.now())
  await remove(place, plan, Date.now())
  return plan.length
}

function versionsLeft(): number[] {
  return readdirSync(directory.checkpointsDir)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

it('keeps what the run wrote down that it uses, and removes the rest once', async () => {
  const inFlight = [{ version: 5, pool: [3] }]
  await publish({ ...idle, pool: [3], inFlight, evaluating: [{ version: 4 }], pinned: [6], rollBackTo: 2 })
  expect(await clean()).toBeGreaterThan(0)
  expect(versionsLeft()).toEqual([0, 2, 3, 4, 5, 6, 8, 9])
  expect(readdirSync(directory.batchesDir).sort()).toEqual([
    '10.safetensors',
    '9.safetensors',
    '9.tokens.safetensors',
  ])
  expect(existsSync(join(directory.checkpointsDir, 'warm-0'))).toBe(false)
  expect(await clean()).toBe(0)
})

it('keeps what was ordered since, and what is evaluated by hand', async () => {
  await publish(idle)
  const order = { time: 1, by: 'ada', from: null, version: 9, reason: null }
  await store.audit.put(run, [
    { ...order, number: 0, what: 'checkpoint', to: 4, effectVersion: 4 },
    { ...order, number: 1, what: 'rollback', to: 2, effectVersion: null },
    { ...order, number: 2, what: 'rollback', to: 3, effectVersion: 9 },
  ])
  const evaluation = evaluationId(run, 'few', 6, 1)
  const created = Date.now()
  await store.evaluations.insert({ id: evaluation, run, suite: 'few', version: 6, seed: 1, created })
  await clean()
  expect(versionsLeft()).toEqual([0, 2, 4, 6, 8, 9])
})

it('keeps the warm start of a run that was stopped in it', async () => {
  await store.runs.publish(run, { version: null, state: { ...idle, version: 0 } })
  await clean()
  expect(existsSync(join(directory.checkpointsDir, 'warm-0'))).toBe(true)
  expect(readdirSync(directory.batchesDir)).toContain('demonstrations.safetensors')
})

it('removes no checkpoint where the state or the mark of the promoted version cannot be read', async () => {
  await publish({ version: 'nine' })
  await clean()
  expect(versionsLeft()).toHaveLength(10)
  await publish(idle)
  writeFileSync(promotionFile(directory.checkpointsDir), '{')
  await clean()
  expect(versionsLeft()).toHaveLength(10)
  rmSync(promotionFile(directory.checkpointsDir))
  await clean()
  expect(versionsLeft()).toEqual([0, 8, 9])
})
