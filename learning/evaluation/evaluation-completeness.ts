/**
 * Completeness of an evaluation: whether enough of its episodes ended with a reward for its success to count.
 *
 * Episodes that the infrastructure lost are not a random sample: a fault often lasts as long as one kind of instance does. So
 * the success of the remaining episodes is shown with the loss, and is neither a best version nor a gate's evidence.
 *
 * Invariants
 * - [COMPLETE-1] A result is complete when at least 95 % of its planned episodes ended with a reward.
 */
import type { Outcome } from './outcome.ts'

/** Episodes that ended without a reward in all their attempts, by the outcome of the last one. */
export type LostEpisodes = Readonly<Partial<Record<Outcome, number>>>

/** How many of the planned episodes ended with a reward. */
export interface EpisodeCounts {
  /** Episodes that ended with a reward. */
  readonly n: number
  readonly planned: number
}

const completePercent = 95

/** @example isComplete({ n: 38, planned: 40 }) // true: 95 % */
export function isComplete({ n, planned }: EpisodeCounts): boolean {
  return 100 * n >= completePercent * planned
}

/** @example episodeCountWords({ n: 5, planned: 40 }) // '5 of 40, 35 lost' */
export function episodeCountWords({ n, planned }: EpisodeCounts): string {
  return n < planned ? `${n} of ${planned}, ${planned - n} lost` : `${n}`
}
