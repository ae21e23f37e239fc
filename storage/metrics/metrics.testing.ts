/** Metrics for tests: an update's line, and what a program that reads `metrics.jsonl` finds there. */
import { existsSync, readFileSync } from 'node:fs'
import { StorageFault, storageFaultOf } from '../disk/fault.ts'
import { type MetricsLine, parseMetrics, type UpdateMetrics } from './metrics.ts'

/** The line of an update that published a version. */
export function update(step: number, version = step): UpdateMetrics {
  return {
    step,
    version,
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

/**
 * All lines in their order, without a last one that is torn; empty where there is no file.
 * @throws StorageFault `corrupt` naming file and line
 */
export function readMetrics(file: string): MetricsLine[] {
  if (!existsSync(file)) return []
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (error) {
    throw storageFaultOf(error, `metrics ${file}`)
  }
  const { complete, tail } = splitTail(content)
  const lines = complete.map((text, index) => {
    const line = parseMetrics(text)
    if (line === undefined)
      throw new StorageFault(
        'corrupt',
        `metrics ${file}, line ${index + 1} is no metrics line; \`perdure doctor --repair\` makes the file again from the store`,
      )
    return line
  })
  const last = parseMetrics(tail.toString('utf8'))
  return last === undefined ? lines : [...lines, last]
}

const newline = 0x0a

function splitTail(content: Buffer): { complete: string[]; tail: Buffer } {
  const end = content.lastIndexOf(newline) + 1
  const text = content.subarray(0, Math.max(0, end - 1)).toString('utf8')
  return { complete: end === 0 ? [] : text.split('\n'), tail: content.subarray(end) }
}
