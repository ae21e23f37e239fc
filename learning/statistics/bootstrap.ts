/**
 * Bootstrap: how far a figure over instances may be off, by drawing the instances again.
 *
 * Source: B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13: percentile intervals.
 *
 * Invariants
 * - The interval contains what was measured, and turns round with the sign of the figure.
 * - The same seed gives the same interval.
 */
import { uniforms } from '../../identity/identity.ts'
import type { Interval } from './interval.ts'

const resamples = 1000

/**
 * The 95 % percentile interval of a figure.
 * @param measured the figure over the instances as they are
 * @param figureOf the figure over instances that are drawn; `draw` gives the index of the next
 * @param of.instances how many there are to draw from
 * @param of.seed 32 bits, of the draws
 */
export function bootstrapInterval(
  measured: number,
  figureOf: (draw: () => number) => number,
  { instances, seed }: { readonly instances: number; readonly seed: number },
): Interval {
  return percentileInterval(measured, (uniform) => figureOf(() => Math.floor(uniform() * instances)), seed)
}

/**
 * The same of a figure that draws from more than one set.
 * @param figureOf the figure over what is drawn; `uniform` gives the next number in [0, 1)
 * @param seed 32 bits, of the draws
 */
export function percentileInterval(
  measured: number,
  figureOf: (uniform: () => number) => number,
  seed: number,
): Interval {
  const uniform = uniforms(seed)
  const drawn = Array.from({ length: resamples }, () => figureOf(uniform)).sort((a, b) => a - b)
  const at = (share: number) => drawn[Math.round(share * (resamples - 1))] ?? measured
  return { low: Math.min(measured, at(0.025)), high: Math.max(measured, at(0.975)) }
}
