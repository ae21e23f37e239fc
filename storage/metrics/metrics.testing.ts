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
    action_tokens: 12_345,
    reward: { alfworld: 0.25 },
    shaped_reward: { alfworld: 0.25 },
    success: { alfworld: 0.375 },
    samples: { alfworld: 128 },
    staleness: { mean: 0.5, max: 1 },
    stale_share: 0.2,
    compared_share: 0.5,
    kl: 0.001,
    reference_kl: 0.002,
    entropy: 1.2,
    clip_fraction: 0.01,
    grad_norm: 0.9,
    loss: -0.5,
    groups_with_preference: 12,
    groups: 16,
    groups_won: 3,
    groups_lost: 1,
    unusable_share: 0.25,
    cut_off_share: 0.125,
    skipped: { groups: 0, won: 0, lost: 0, episodes: 0, tokens: 0 },
    tasks: {},
    seconds: { wait: 1, train: 2, publish: 0.1, skipped: 0 },
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
