import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  appendMetrics,
  type EvaluationMetrics,
  isUpdateMetrics,
  readMetrics,
  type UpdateMetrics,
} from './metrics.ts'

function update(step: number): UpdateMetrics {
  return {
    step,
    version: step,
    time: '2026-01-02T03:04:05.678Z',
    episodes: 128,
    tokens: 54_321,
    reward: { alfworld: 0.25 },
    success: { alfworld: 0.375 },
    staleness: { mean: 0.5, max: 1 },
    stale_share: 0.2,
    kl: 0.001,
    entropy: 1.2,
    clip_fraction: 0.01,
    grad_norm: 0.9,
    seconds: { wait: 1, train: 2, publish: 0.1 },
  }
}
const evaluation: EvaluationMetrics = {
  evaluation: 'demo/e-held_out-v0-1',
  version: 0,
  suite: 'held_out',
  success: 0.4,
  n: 200,
}

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-metrics-'))
  file = join(dir, 'metrics.jsonl')
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

describe('appendMetrics', () => {
  it("an update's step and an evaluation's id stand in one line, however often they are appended", () => {
    expect(appendMetrics(file, evaluation)).toBe('first')
    expect(appendMetrics(file, update(1))).toBe('first')
    expect(appendMetrics(file, { ...update(1), kl: 9 })).toBe('already')
    expect(appendMetrics(file, evaluation)).toBe('already')
    expect(appendMetrics(file, update(2))).toBe('first')
    expect(readMetrics(file)).toEqual([evaluation, update(1), update(2)])
    expect(readMetrics(file).filter(isUpdateMetrics)).toHaveLength(2)
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(4)
  })

  it('a last line torn at any byte is mended by the next append and ignored by readers', () => {
    appendMetrics(file, update(1))
    appendMetrics(file, { ...update(2), reward: { küche: 1 } })
    const whole = readFileSync(file)
    const start = whole.indexOf(0x0a) + 1
    for (let length = start; length < whole.byteLength; length += 7) {
      writeFileSync(file, whole)
      truncateSync(file, length)
      expect(readMetrics(file)).toEqual([update(1)])
      expect(appendMetrics(file, update(3))).toBe('first')
      expect(readMetrics(file)).toEqual([update(1), update(3)])
    }
  })

  it('a last line that only lacks its newline is kept', () => {
    appendMetrics(file, update(1))
    truncateSync(file, readFileSync(file).byteLength - 1)
    expect(readMetrics(file)).toEqual([update(1)])
    expect(appendMetrics(file, update(1))).toBe('already')
    truncateSync(file, readFileSync(file).byteLength - 1)
    expect(appendMetrics(file, update(2))).toBe('first')
    expect(readMetrics(file)).toEqual([update(1), update(2)])
  })

  it('a line that readers could not understand is never written', () => {
    expect(() => appendMetrics(file, { ...update(1), kl: Number.NaN })).toThrow(/kl/)
    expect(() => appendMetrics(file, { ...evaluation, success: 1.5 })).toThrow(/success/)
    expect(readMetrics(file)).toEqual([])
  })

  it('further keys are kept', () => {
    appendMetrics(file, { ...update(1), loss: 0.5 })
    expect(readMetrics(file)).toEqual([{ ...update(1), loss: 0.5 }])
  })

  it('a folder that does not exist is named', () => {
    const lost = join(dir, 'none', 'metrics.jsonl')
    expect(() => appendMetrics(lost, update(1))).toThrow(lost)
  })
})

describe('readMetrics', () => {
  it('a damaged line in the middle is refused with file and number', () => {
    appendMetrics(file, update(1))
    appendFileSync(file, '{"step": "two"}\n')
    appendMetrics(file, update(3))
    expect(() => readMetrics(file)).toThrow(`${file}, line 2`)
  })

  it('a run without metrics has none', () => {
    expect(readMetrics(file)).toEqual([])
  })
})
