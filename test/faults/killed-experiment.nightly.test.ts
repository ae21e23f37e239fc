/** An experiment as a user runs it, killed again and again: what it comes to is what it comes to undisturbed. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { ExperimentReport } from '../../client/experiment/experiment-report.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import {
  eventually,
  killServer,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const file = 'test/support/tiny-experiment.yaml'
const [undisturbed, killed] = [temporaryHome(), temporaryHome()]
const folder = mkdtempSync(join(tmpdir(), 'perdure-experiment-'))
let running: PerdureProcess | undefined

afterAll(async () => {
  await running?.killGroup()
  for (const home of [undisturbed, killed]) removeHome(home)
  rmSync(folder, { recursive: true, force: true })
})

/** The part of a report that does not depend on when and where the experiment ran. */
function table(text: string): unknown {
  const { arms, runs, hypotheses, curves, seeds } = JSON.parse(text) as ExperimentReport
  const withoutCost = (each: object) => ({ ...each, cost: undefined })
  return { arms: arms.map(withoutCost), runs: runs.map(withoutCost), hypotheses, curves, seeds }
}

/** The gradient norms of each run: only the same tokens and weights make them equal. */
async function gradientsIn(home: string): Promise<Readonly<Record<string, readonly number[]>>> {
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  const runs = (await store.runs.list()).toSorted((a, b) => a.id.localeCompare(b.id))
  const lines = runs.map(async ({ id }) => {
    const updates = (await store.metrics.list(id)).filter(isUpdateMetrics)
    return [id, updates.map((update) => update.grad_norm)] as const
  })
  return Object.fromEntries(await Promise.all(lines))
}

/** Runs that are done, and updates of all. */
async function progressIn(home: string): Promise<{ readonly done: number; readonly updates: number }> {
  const { storeFile } = homeAt(home)
  if (!existsSync(storeFile)) return { done: 0, updates: 0 }
  await using store = await openStore(storeFile, { create: false })
  const runs = await store.runs.list()
  const updates = await Promise.all(runs.map(({ id }) => store.updates.list(id)))
  return { done: runs.filter(({ status }) => status === 'done').length, updates: updates.flat().length }
}

describe('an experiment', () => {
  it('ends with the same table after kill -9 of everything in its middle, twice', async () => {
    const whole = await startPerdure(undisturbed, 'experiment', file, '--json').ended
    expect(whole.stderr).toContain('experiment tiny begins: 2 arms × 2 seeds')
    expect(whole.code).toBe(0)
    for (const updates of [2, 7]) {
      running = startPerdure(killed, 'experiment', file, '--json', '--parallel', '2')
      await eventually(`update ${updates} of all`, async () => {
        return (await progressIn(killed)).updates >= updates || undefined
      })
      killServer(killed)
      await running.killGroup()
      expect((await progressIn(killed)).done).toBeLessThan(4)
    }
    const report = await startPerdure(killed, 'experiment', 'report', file, '--json').ended
    expect(report.code).toBe(0)
    expect(JSON.parse(report.stdout).hypotheses[0].missing.length).toBeGreaterThan(0)
    running = startPerdure(killed, 'experiment', file, '--json', '--parallel', '2')
    const resumed = await running.ended
    expect(resumed.stderr).toContain('experiment tiny continues')
    expect(resumed.code).toBe(0)
    expect(table(resumed.stdout)).toEqual(table(whole.stdout))
    const gradients = await gradientsIn(undisturbed)
    expect(await gradientsIn(killed)).toEqual(gradients)
    const [plain, quick] = [gradients['tiny.plain.1'] ?? [], gradients['tiny.quick.1'] ?? []]
    expect(plain.length).toBe(3)
    // The arms share their warm start, and part after the first update.
    expect(quick[0]).toBe(plain[0])
    expect(quick[2]).not.toBe(plain[2])
  }, 600_000)

  it('that has ended says what it came to, by its file and by its name, at once', async () => {
    const again = await startPerdure(undisturbed, 'experiment', file, '--json').ended
    const out = join(folder, 'results')
    const named = await startPerdure(undisturbed, 'experiment', 'report', 'tiny', '--json', '--out', out)
      .ended
    expect([again.code, named.code]).toEqual([0, 0])
    expect(table(named.stdout)).toEqual(table(again.stdout))
    expect(JSON.parse(again.stdout).unchanged).toBe(true)
    expect(readdirSync(out).toSorted()).toEqual(['tiny-held_out.svg', 'tiny.csv', 'tiny.json'])
    expect(table(readFileSync(join(out, 'tiny.json'), 'utf8'))).toEqual(table(again.stdout))
  }, 120_000)

  it('is not taken for one that states something else', async () => {
    const other = join(folder, 'other.yaml')
    const text = readFileSync(file, 'utf8').replace('base: ../../', `base: ${process.cwd()}/`)
    writeFileSync(other, text.replace('than: plain }', 'than: plain, by: 0.2 }'))
    const refused = await startPerdure(undisturbed, 'experiment', other).ended
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/experiment tiny began with another statement: hypotheses;/)
    const report = await startPerdure(undisturbed, 'experiment', 'report', other).ended
    expect(report.stdout).toContain('is not, to the byte, the file that the experiment began with')
    writeFileSync(other, `# another comment\n${text}`)
    const same = await startPerdure(undisturbed, 'experiment', other).ended
    expect(same.stdout).toContain('states the same')
    expect(same.code).toBe(0)
  }, 120_000)
})
