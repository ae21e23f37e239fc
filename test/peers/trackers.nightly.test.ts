/** Trackers as their own programs read them: TensorBoard, MLflow, `wandb sync`, and pandas the CSV. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { update } from '../../storage/metrics/metrics.testing.ts'
import type { MetricsLine } from '../../storage/metrics/metrics.ts'
import { asCsv, metricsTable } from '../../storage/metrics/metrics-table.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { trackerNames, writeTrackers } from '../../storage/trackers/tracking.ts'
import { pythonWithTrackers, readBy, wandbSync } from './tracker-readers.ts'

const python = pythonWithTrackers() ?? ''
const reason = python === '' ? ' (skipped: no Python with tensorboard, mlflow, pandas and wandb)' : ''

const run = runId('first')
const steps = Array.from({ length: 300 }, (_, index) => index + 1)
const lines: readonly MetricsLine[] = steps.flatMap((step) => [
  { ...update(step), time: new Date(1_767_323_045_678 + step * 1000).toISOString(), kl: step / 1000 },
  ...(step % 100 === 0
    ? [
        {
          evaluation: `e-held_out-v${step}-1`,
          version: step,
          suite: 'held_out',
          success: step / 400,
          n: 200,
          planned: 200,
          lost: {},
          time: new Date(1_767_323_045_678 + step * 1000 + 500).toISOString(),
        },
      ]
    : []),
])

describe.skipIf(python === '')(`the figures of a run${reason}`, () => {
  let dir: string
  let store: Store
  const folder = (name: string) => join(dir, name)

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'perdure-readers-'))
    store = await openStore(join(dir, 'store.db'))
    await store.runs.insert({
      id: run,
      config: { seed: 7, learning: { rate: 0.5 } },
      created: 1_767_323_045_000,
    })
    const folders = Object.fromEntries(trackerNames.map((name) => [name, folder(name)]))
    for (const line of lines) {
      await store.metrics.put(run, line)
      // As often as a run that is interrupted writes them.
      if ('step' in line && typeof line.step === 'number' && line.step % 50 === 0)
        await writeTrackers(store, run, folders)
    }
    await store.runs.setStatus(run, 'done', { ended: 1_767_323_999_000 })
    await writeTrackers(store, run, folders)
  })
  afterAll(async () => {
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })

  // [EVENTS-1]
  it('are read by TensorBoard, each step once', async () => {
    const events = await readBy('tensorboard', join(folder('tensorboard'), run), python)
    expect(events.kl?.map(([step]) => step)).toEqual(steps)
    // Numbers of an event have 32 bits.
    expect(events.kl?.map(([, value]) => value)).toEqual(steps.map((step) => Math.fround(step / 1000)))
    expect(events.kl?.[0]?.[2]).toBe(1_767_323_046.678)
    expect(events['success/alfworld']).toHaveLength(300)
    expect(events['evaluation/held_out/success']?.map(([step, value]) => [step, value])).toEqual([
      [100, 0.25],
      [200, 0.5],
      [300, 0.75],
    ])
  })

  // [FILE-STORE-1]
  it('are read by MLflow, each step once', async () => {
    const found = await readBy('mlflow', folder('mlflow'), python)
    expect(found.experiments).toContain('perdure')
    expect(found.runs).toHaveLength(1)
    expect(found.runs[0]).toMatchObject({
      name: 'first',
      status: 'FINISHED',
      params: { seed: '7', 'learning.rate': '0.5' },
    })
    expect(found.runs[0]?.metrics.kl).toEqual(steps.map((step) => [step, step / 1000]))
    expect(found.runs[0]?.metrics['evaluation/held_out/success']).toEqual([
      [100, 0.25],
      [200, 0.5],
      [300, 0.75],
    ])
  })

  // [OFFLINE-1] [OFFLINE-2] [OFFLINE-3]
  it('are uploaded by `wandb sync`, each step once and to its end', async () => {
    const [offline = ''] = readdirSync(join(folder('wandb'), 'wandb'))
    const { runs, history, isComplete } = await wandbSync(join(folder('wandb'), 'wandb', offline), python)
    expect(runs[0]).toMatchObject({ project: 'perdure', displayName: 'first' })
    expect(JSON.parse(String(runs[0]?.config))).toMatchObject({ seed: { value: 7 } })
    expect(history.map((row) => row._step)).toEqual(lines.map((_, index) => index))
    expect(history.flatMap((row) => (row.kl === undefined ? [] : [[row.step, row.kl]]))).toEqual(
      steps.map((step) => [step, step / 1000]),
    )
    expect(history.flatMap((row) => row['evaluation/held_out/success'] ?? [])).toEqual([0.25, 0.5, 0.75])
    expect(isComplete).toBe(true)
  }, 90_000)

  it('are read by pandas from the CSV, with a type for each column', async () => {
    const file = join(dir, 'updates.csv')
    writeFileSync(file, asCsv(metricsTable(lines, 'updates')))
    const table = await readBy('pandas', file, python)
    expect(table.rows.map((row) => [row.step, row.kl])).toEqual(steps.map((step) => [step, step / 1000]))
    const typeOf = (column: string) => table.types[table.columns.indexOf(column)]
    expect(['step', 'kl', 'success.alfworld'].map(typeOf)).toEqual(['int64', 'float64', 'float64'])
  })
})
