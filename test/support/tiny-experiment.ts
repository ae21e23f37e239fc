/** Experiments in miniature: two arms of runs as `tiny-run.ts` has them. */
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import { tinyConfig } from './tiny-run.ts'

/** One arm makes one update, the other two. */
export function tinyExperiment(name: string, stated: Partial<ExperimentStatement> = {}): ExperimentStatement {
  const evaluation = { every: 0, suites: [{ name: 'few', task: 'echo', episodes: 3 }] }
  const arm = (updates: number) => tinyConfig({ training: { updates }, evaluation })
  return {
    name,
    source: { file: `${name}.yaml`, sha256: '0'.repeat(64) },
    set: {},
    arms: [
      { arm: 'one', set: { 'training.updates': 1 }, config: arm(1) },
      { arm: 'two', set: { 'training.updates': 2 }, config: arm(2) },
    ],
    seeds: [1, 2],
    suites: ['few'],
    version: 'last',
    hypotheses: [
      {
        name: 'two over one',
        better: { arm: 'two', version: 'last' },
        than: { arm: 'one', version: 'last' },
        by: 0,
        on: ['few'],
      },
    ],
    test: 't',
    level: 0.05,
    ...stated,
  }
}
