/**
 * The learning rate of an update: a rise from a fraction of the peak, then a straight fall over the run.
 *
 * AdamW's first steps have fresh moments and are the largest of a run, and a small policy that keeps its
 * learning rate wanders off after what it has found; hence a rise and a fall.
 *
 * Invariants
 * - It is never above the peak, not by rounding either, and never below `finalShare` of it once the rise is over.
 * - Updates beyond the planned number keep the last rate.
 */

export interface LearningRateSchedule {
  /** Rate at the top. */
  readonly peak: number
  /** Updates of the rise; 0 starts at the peak. */
  readonly warmUpUpdates: number
  /** Share of the peak at the last planned update; 1 keeps it constant. */
  readonly finalShare: number
  /** Updates the run plans. */
  readonly updates: number
}

/**
 * @param update from 1 on
 * @example learningRateAt(1, { peak: 1, warmUpUpdates: 2, finalShare: 0, updates: 12 }) // 0.5
 * @example learningRateAt(7, { peak: 1, warmUpUpdates: 2, finalShare: 0, updates: 12 }) // 0.5
 */
export function learningRateAt(update: number, schedule: LearningRateSchedule): number {
  const { peak, warmUpUpdates, finalShare, updates } = schedule
  if (update <= warmUpUpdates) return peak * (update / warmUpUpdates)
  const course = Math.min(1, (update - warmUpUpdates) / Math.max(1, updates - warmUpUpdates))
  return peak * (1 - (1 - finalShare) * course)
}
