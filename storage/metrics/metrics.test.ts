import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readMetrics, update } from './metrics.testing.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-metrics-'))
  file = join(dir, 'metrics.jsonl')
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

describe('readMetrics', () => {
  it('a damaged line in the middle is refused with file and number', () => {
    writeFileSync(
      file,
      [JSON.stringify(update(1)), '{"step": "two"}', JSON.stringify(update(3)), ''].join('\n'),
    )
    expect(() => readMetrics(file)).toThrow(`${file}, line 2`)
  })

  it('a last line torn at any byte is ignored', () => {
    const first = Buffer.from(`${JSON.stringify(update(1))}\n`)
    const second = Buffer.from(`${JSON.stringify({ ...update(2), reward: { küche: 1 } })}\n`)
    for (let length = 0; length < second.byteLength - 1; length += 7) {
      writeFileSync(file, Buffer.concat([first, second.subarray(0, length)]))
      expect(readMetrics(file)).toEqual([update(1)])
    }
    writeFileSync(file, Buffer.concat([first, second.subarray(0, -1)]))
    expect(readMetrics(file)).toHaveLength(2)
  })

  it('a run without metrics has none', () => {
    expect(readMetrics(file)).toEqual([])
  })
})
