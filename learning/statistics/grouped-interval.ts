/**
 * Intervals of figures whose episodes come in groups: samples of one instance are alike, so groups are what is drawn.
 *
 * Invariants
 * - [GROUPED-1] An interval contains what was measured, that of a share within [0, 1].
 * - [GROUPED-2] A share is as certain as that of so many independent trials as the groups differ like: at least as many as
 *   there are groups, at most as there are episodes.
 * - A single group says nothing of how groups differ: of a mean there is no interval then.
 */
import { type Interval, wilsonInterval } from './interval.ts'

/** Two-sided 95 % quantiles of Student's t distribution for 1 to 10 degrees of freedom. */
const quantiles = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228] as const
const normalQuantile = 1.959963984540054

/**
 * Wilson's interval of a success rate with the number of trials that the spread of the groups' rates tells of:
 * n' = p(1 − p) / var(p), within [groups, episodes] (L. Kish, Survey Sampling (1965): the design effect is n / n').
 * @param rates [groups] success rate of each, in [0, 1]
 * @param sizes [groups] episodes of each
 * @throws RangeError no group
 * @example groupedShare([1, 0, 1, 0], [8, 8, 8, 8]) // that of 4 trials: all samples of an instance do the same
 */
export function groupedShare(rates: readonly number[], sizes: readonly number[]): Interval {
  const groups = rates.length
  const episodes = sizes.reduce((sum, size) => sum + size, 0)
  if (groups === 0 || episodes === 0) throw new RangeError('no group has an episode, expected at least one')
  const share = rates.reduce((sum, rate, group) => sum + rate * (sizes[group] ?? 0), 0) / episodes
  const variance = varianceOfMean(rates)
  const alike = variance > 0 ? (share * (1 - share)) / variance : groups
  const trials = Math.min(episodes, Math.max(groups, alike))
  return wilsonInterval(Math.min(trials, share * trials), trials)
}

/**
 * The mean of groups with its 95 % interval by Student's t; undefined for fewer than two groups.
 * @param means [groups]
 */
export function groupedMean(means: readonly number[]): Interval | undefined {
  const groups = means.length
  if (groups < 2) return undefined
  const mean = means.reduce((sum, value) => sum + value, 0) / groups
  const spread = quantileOf(groups - 1) * Math.sqrt(varianceOfMean(means))
  return { low: mean - spread, high: mean + spread }
}

function varianceOfMean(values: readonly number[]): number {
  const n = values.length
  if (n < 2) return 0
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n * (n - 1))
}

/** Beyond the table: the first terms of the expansion in 1 / degrees, off by less than 0.001. */
function quantileOf(degrees: number): number {
  const z = normalQuantile
  return (
    quantiles[degrees - 1] ??
    z + (z ** 3 + z) / (4 * degrees) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2)
  )
}
