/** Each line of metrics is there once, in order, for any number of writers and any damage to the file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { readMetrics, update } from '../metrics/metrics.testing.ts'
import type { EvaluationMetrics, MetricsLine } from '../metrics/metrics.ts'
import { openStore, type Store } from '../store.ts'

const run = runId('demo')
let dir: string
let file: string
let store: Store

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-metrics-'))
  file = join(dir, 'metrics.jsonl')
  store = await openStore(join(dir, 'store.db'))
  await store.runs.insert({ id: run, config: {}, created: 1 })
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

function evaluation(version: number): EvaluationMetrics {
  return {
    evaluation: `demo/e-held_out-v${version}-1`,
    version,
    suite: 'held_out',
    success: 0.4,
    n: 200,
    planned: 200,
    lost: {},
  }
}

async function record(...lines: readonly MetricsLine[]): Promise<void> {
  for (const line of lines) await store.metrics.put(run, line)
  await store.metrics.write(run, file)
}

describe('a line', () => {
  // [METRICS-1]
  it('is there once, however often it is put', async () => {
    expect(await store.metrics.put(run, update(1))).toBe('first')
    expect(await store.metrics.put(run, { ...update(1), kl: 9 })).toBe('already')
    await record(evaluation(0), evaluation(0), update(2))
    expect(readMetrics(file)).toEqual([evaluation(0), update(1), update(2)])
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(4)
  })

  it('with the words of a trainer outside is one line to every reader, and is read back as it was', async () => {
    const line = { ...update(1), refused: 'not\u2028finite \u0085\u009b2J\u202e' }
    await record(line)
    expect(readFileSync(file, 'utf8')).toMatch(/^[ -~]+\n$/)
    expect(readMetrics(file)).toEqual([line])
  })

  // [METRICS-4]
  it('of an evaluation gives way to that of a repetition with more episodes, and readers that follow see it', async () => {
    const few = { ...evaluation(0), n: 5, planned: 200, lost: { infrastructure_error: 195 } }
    const all = { ...evaluation(0), planned: 200, lost: {} }
    await record(update(1), few)
    const { mark } = await store.metrics.after(run, 0)
    await record(all)
    expect((await store.metrics.after(run, mark)).lines).toEqual([all])
    expect(readMetrics(file)).toEqual([all, update(1)])
    // A line that was replaced is not one that was lost.
    expect(existsSync(`${file}.replaced`)).toBe(false)
    expect(await store.metrics.put(run, few)).toBe('already')
  })

  // [METRICS-2]
  it('is where its update is, whenever it came', async () => {
    const back = { rollback: 1, version: 3, from: 2, time: '2026-01-02T03:04:05.678Z' }
    // The fourth update learnt nothing.
    const ordered = [evaluation(0), update(1), evaluation(1), update(2), back, update(3, 4), update(4, 4)]
    for (const line of ordered.toReversed()) await record(line)
    await record(evaluation(4))
    expect(readMetrics(file)).toEqual([...ordered, evaluation(4)])
    const { lines, mark } = await store.metrics.after(run, 0)
    expect(lines).toEqual([...ordered.toReversed(), evaluation(4)])
    expect(await store.metrics.after(run, mark)).toEqual({ lines: [], mark })
  })

  // [METRICS-3]
  it('that readers could not understand is never kept', async () => {
    await expect(store.metrics.put(run, { ...update(1), kl: Number.NaN })).rejects.toThrow(/kl/)
    await expect(store.metrics.put(run, { ...evaluation(1), success: 1.5 })).rejects.toThrow(/success/)
    expect(await store.metrics.list(run)).toEqual([])
  })

  it('keeps its further keys', async () => {
    await record({ ...update(1), loss: 0.5 })
    expect(readMetrics(file)).toEqual([{ ...update(1), loss: 0.5 }])
  })
})

describe('the file', () => {
  it('grows in place, for those who follow it', async () => {
    await record(update(1))
    const { ino } = statSync(file)
    await record(update(2))
    expect(statSync(file).ino).toBe(ino)
  })

  // [METRICS-2]
  it('torn at any byte, damaged in the middle or missing is made again by the next line', async () => {
    await record(update(1), { ...update(2), reward: { küche: 1 } })
    const whole = readFileSync(file)
    const damages = [
      ...Array.from({ length: 12 }, (_, index) => () => truncateSync(file, index * 53)),
      () => rmSync(file),
      () => writeFileSync(file, whole.fill(0x20, 10, 20)),
      () => appendFileSync(file, '{"step": "two"}\n'),
    ]
    for (const [index, damage] of damages.entries()) {
      damage()
      expect(await store.metrics.isWritten(run, file)).toBe(false)
      await record(update(index + 3))
      expect(await store.metrics.isWritten(run, file)).toBe(true)
      expect(readMetrics(file)).toHaveLength(index + 3)
    }
  })

  it('keeps lines that the store does not know under another name', async () => {
    await record(update(1))
    appendFileSync(file, `${JSON.stringify(update(2))}\n`)
    await record(update(3))
    expect(readMetrics(file)).toEqual([update(1), update(3)])
    expect(readMetrics(`${file}.replaced`)).toEqual([update(1), update(2)])
  })

  it('in a folder that does not exist is named', async () => {
    const lost = join(dir, 'none', 'metrics.jsonl')
    await store.metrics.put(run, update(1))
    await expect(store.metrics.write(run, lost)).rejects.toMatchObject({
      message: expect.stringContaining(lost),
    })
  })
})

const writers = 4
const linesOfEach = 15

// [METRICS-1]
it('every line of several processes that write at once is there once, in order', {
  timeout: 120_000,
}, async () => {
  const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
  const script = `
    import { openStore } from ${module('../store.ts')}
    const store = await openStore(${JSON.stringify(store.file)})
    const [, first] = process.argv
    const line = ${JSON.stringify(update(0))}
    process.stdin.once('data', async () => {
      for (let n = 0; n < ${linesOfEach}; n++) {
        const step = 1 + n * ${writers} + Number(first)
        // Those of a neighbour too: whose turn it is, is not certain.
        for (const each of [step, step + 1]) {
          await store.metrics.put('demo', { ...line, step: each, version: each, note: 'x'.repeat(each % 97) })
          await store.metrics.write('demo', ${JSON.stringify(file)})
        }
      }
      await store.close()
      process.exit(0)
    })
    console.log('ready')`
  const processes = Array.from({ length: writers }, (_, index) =>
    spawn(process.execPath, ['--input-type=module', '-e', script, '--', String(index)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(processes.map(({ stdout }) => once(stdout, 'data')))
  const ends = processes.map((each) => once(each, 'exit'))
  for (const { stdin } of processes) stdin.write('go')
  expect((await Promise.all(ends)).map(([code]) => code)).toEqual(processes.map(() => 0))
  const steps = readMetrics(file).map((line) => 'step' in line && line.step)
  expect(steps).toEqual(Array.from({ length: writers * linesOfEach + 1 }, (_, index) => index + 1))
})
