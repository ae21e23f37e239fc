/** An update's line of metrics for tests. */
import type { UpdateMetrics } from './metrics.ts'

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
