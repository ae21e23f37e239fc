/**
 * Probability of improvement over several tasks: how likely a run of one arm is better than a run of another one on a task that
 * is drawn at random. It says how often an arm helps, where a mean difference may come from one task.
 *
 * Source: R. Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021
 * (arXiv 2108.13264), section 4.3 (rliable). Pairs of runs of a seed are drawn again, on all tasks at once: a run plays them all.
 *
 * Invariants
 * - [IMPROVEMENT-1] It lies in [0, 1], equal runs count as one half, and exchanging the arms turns it round.
 * - The same scores and seed give the same interval.
 */
import { percentileInterval } from '../statistics/bootstrap.ts'
import type { Interval } from '../statistics/interval.ts'

/** A measure of two runs of a seed on a task; higher is better. */
export interface ScorePair {
  readonly better: number
  readonly than: number
}

export interface Improvement extends Interval {
  readonly value: number
}

/**
 * P(better > than) + P(better = than) / 2 over all pairs of runs, the mean over tasks, with its 95 % interval.
 * @param tasks [tasks][seeds] one at least of each
 * @param seed 32 bits, of the draws
 */
export function probabilityOfImprovement(
  tasks: readonly (readonly ScorePair[])[],
  seed: number,
): Improvement {
  const seeds = tasks[0]?.length ?? 0
  const all = Array.from({ length: seeds }, (_, at) => at)
  const value = improvementOver(tasks, all)
  const drawn = (uniform: () => number) =>
    improvementOver(
      tasks,
      all.map(() => Math.floor(uniform() * seeds)),
    )
  return { value, ...percentileInterval(value, drawn, seed) }
}

/** @param chosen places of the seeds that take part */
function improvementOver(tasks: readonly (readonly ScorePair[])[], chosen: readonly number[]): number {
  let total = 0
  for (const task of tasks)
    for (const one of chosen)
      for (const other of chosen) {
        const [better, than] = [task[one]?.better ?? 0, task[other]?.than ?? 0]
        total += better > than ? 1 : better === than ? 0.5 : 0
      }
  return total / (tasks.length * chosen.length ** 2)
}
