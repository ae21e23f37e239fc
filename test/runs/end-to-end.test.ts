/** The whole pipeline on the real server, and the replay of every execution it made. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import type { TrajectoryRow } from '../../storage/trajectories/trajectory-row.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { type Ending, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const run = runId('whole')
const home = temporaryHome()
let training: Ending

beforeAll(async () => {
  training = await startPerdure(home, 'train', 'test/support/whole-pipeline.yaml', '--run', run).ended
}, 180_000)

afterAll(() => removeHome(home))

describe('a training run from start to end', () => {
  it('succeeds and tells what it reached and how to continue', () => {
    expect(training.stderr).not.toMatch(/error/i)
    expect(training.code).toBe(0)
    expect(training.stdout).toContain('held_out')
    for (const command of [`status ${run}`, `eval ${run}`, `export ${run}`, 'ui'])
      expect(training.stdout).toContain(`perdure ${command}`)
    expect(training.stdout).not.toContain('perdure resume') // it is done
    expect(training.stdout).toContain(`http://127.0.0.1:8450/#/runs/${run}`)
  })

  it('writes one metrics line per update and one per evaluation', () => {
    const lines = readMetrics(homeAt(home).run(run).metricsFile)
    expect(lines.filter(isUpdateMetrics).map(({ step }) => step)).toEqual([1, 2, 3])
    expect(lines.filter((line) => !isUpdateMetrics(line)).length).toBeGreaterThanOrEqual(1)
  })

  it('leaves no server behind, and no address of one', () => {
    // The page is served by a command of its own.
    expect(training.stdout).not.toMatch(/http:\/\/(?!127\.0\.0\.1:8450\/#)/)
    expect(JSON.parse(readFileSync(join(home, 'temporal.json'), 'utf8'))).not.toHaveProperty('pid')
  })

  it('is reported by status and exported as tables that other programs read', async () => {
    const status = await startPerdure(home, 'status', run, '--json').ended
    expect(status.code).toBe(0)
    expect(JSON.parse(status.stdout)).toMatchObject({ run, status: 'done', step: 3 })
    const out = join(home, 'trajectories.parquet')
    const exported = await startPerdure(home, 'export', run, '--format', 'parquet', '--out', out).ended
    expect(exported.code).toBe(0)
    const rows = await parquetReadObjects({ file: asyncBuffer(out) })
    await using store = await openStore(homeAt(home).storeFile, { create: false })
    expect(rows).toHaveLength((await store.episodes.page(run, '', 10_000)).length)
  })

  it('is exported with the advantages that its updates have learnt with', async () => {
    const out = join(home, 'trajectories.jsonl')
    expect((await startPerdure(home, 'export', run, '--out', out).ended).code).toBe(0)
    const rows = readFileSync(out, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as TrajectoryRow)
    const { batchFile, metricsFile } = homeAt(home).run(run)
    for (const { step, groups_with_preference } of readMetrics(metricsFile).filter(isUpdateMetrics)) {
      // An update that had nothing to learn from has no batch.
      expect(existsSync(batchFile(step))).toBe(groups_with_preference !== 0)
      if (groups_with_preference === 0) continue
      const { tokens, advantages } = await readUpdateBatch(batchFile(step))
      const learnt = rows.filter(
        ({ update, advantages_from }) => update === step && advantages_from === 'update',
      )
      const inBatch = (row: TrajectoryRow, of: ArrayLike<number>, at: number) =>
        row.tokens.map((_, index) => of[at + index])
      // The episodes of a batch stand one after another: each is there once, with the advantages of its row.
      const places = learnt.map((row) =>
        [...tokens.keys()].filter(
          (at) =>
            isEqual(inBatch(row, tokens, at), row.tokens) &&
            isEqual(inBatch(row, advantages, at), row.advantages.map(Math.fround)),
        ),
      )
      expect(places.every((found) => found.length > 0)).toBe(true)
      expect(learnt.reduce((sum, row) => sum + row.tokens.length, 0)).toBe(tokens.length)
    }
    for (const { update, advantages } of rows) if (update === null) expect(advantages).toEqual([])
  })

  it('has its figures as a table, and as CSV with each update once', async () => {
    const words = ['metrics', run]
    const shown = await startPerdure(home, ...words).ended
    expect(shown.stdout).toMatch(/update.*staleness.*KL.*entropy/)
    const csv = await startPerdure(home, ...words, '--csv').ended
    expect([shown.code, csv.code]).toEqual([0, 0])
    const [head = '', ...rows] = csv.stdout.trimEnd().split('\r\n')
    expect(head.split(',').slice(0, 2)).toEqual(['step', 'version'])
    expect(rows.map((row) => row.split(',')[0])).toEqual(['1', '2', '3'])
  })

  it('evaluates a checkpoint by hand, and a second time finds the same result', async () => {
    const words = ['eval', `${run}@0`, '--episodes', '4', '--json']
    const first = await startPerdure(home, ...words).ended
    const second = await startPerdure(home, ...words).ended
    expect([first.code, second.code]).toEqual([0, 0])
    expect(JSON.parse(first.stdout)).toMatchObject({ version: 0, n: 4 })
    expect(JSON.parse(second.stdout)).toEqual(JSON.parse(first.stdout))
  })

  it('branches an episode, and a second time finds the same continuations', async () => {
    const words = ['branch', `${run}/g0/s0/a0`, '--turn', '1', '--samples', '2', '--json']
    const first = await startPerdure(home, ...words).ended
    const second = await startPerdure(home, ...words).ended
    expect([first.code, second.code]).toEqual([0, 0])
    expect(JSON.parse(first.stdout).samples).toHaveLength(2)
    expect(second.stdout).toBe(first.stdout)
    const refused = await startPerdure(home, ...words, '--version', '9').ended
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: run whole keeps no version 9; it has 0, [\d, ]+\n$/),
    })
  })

  it('replays: every execution, along its whole chain', async () => {
    const histories = await fetchHistories(home)
    expect(new Set(histories.map(({ type }) => type))).toEqual(
      new Set(['trainingRun', 'rolloutGroup', 'episode', 'evaluation', 'branch']),
    )
    expect(await replay(histories)).toEqual([])
  })
})

function asyncBuffer(file: string) {
  const bytes = readFileSync(file)
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  return { byteLength: whole.byteLength, slice: (start: number, end?: number) => whole.slice(start, end) }
}

function isEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
