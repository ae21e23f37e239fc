/**
 * Statistics of importance ratios: how far the policy that learns is from those that sampled its tokens.
 *
 * Invariants
 * - [RATIO-1] Sums of parts are the sums of the whole, so parts may be computed apart and in any order, except for rounding.
 * - All figures are finite; a ratio beyond e^±20 counts as e^±20.
 */
import { boundedK3 } from './objective.ts'

/** Edges between the bins of a histogram of ratios; ratios of 1 are in the middle one. */
export const ratioEdges = [0.1, 0.5, 0.8, 0.95, 1.05, 1.25, 2, 10] as const

const logEdges = ratioEdges.map(Math.log)

/** Largest |log ratio|, as in the objective's graph. */
const logRatioLimit = 20

/** Sums over tokens. */
export interface RatioSums {
  readonly tokens: number
  /** The sum of `boundedK3`. */
  readonly divergence: number
  readonly ratios: number
  readonly squares: number
  /** [bins] tokens in each: below the first edge, between two, and from the last on. */
  readonly histogram: readonly number[]
}

/** The statistics of the tokens together. */
export interface RatioStatistics {
  readonly tokens: number
  /** Mean of `boundedK3`, an estimate of KL(behaviour ‖ policy) in nats. */
  readonly kl: number
  /** Effective sample size by tokens, (Σr)² / (n Σr²), in (0, 1]: 1 where all ratios are the same. */
  readonly effectiveShare: number
  /** [bins] shares of the tokens; they add up to 1. */
  readonly histogram: readonly number[]
}

/** @param logRatios logprob − behaviour logprob of each token, in nats */
export function ratioSums(logRatios: readonly number[]): RatioSums {
  const histogram = new Array<number>(ratioEdges.length + 1).fill(0)
  let [divergence, ratios, squares] = [0, 0, 0]
  for (const logRatio of logRatios) {
    const limited = Math.min(Math.max(logRatio, -logRatioLimit), logRatioLimit)
    const ratio = Math.exp(limited)
    divergence += boundedK3(limited).value
    ratios += ratio
    squares += ratio * ratio
    const bin = logEdges.filter((edge) => limited >= edge).length
    histogram[bin] = (histogram[bin] ?? 0) + 1
  }
  return { tokens: logRatios.length, divergence, ratios, squares, histogram }
}

/** Sums of all parts. */
export function mergedRatios(parts: readonly RatioSums[]): RatioSums {
  return parts.reduce(
    (sum, part) => ({
      tokens: sum.tokens + part.tokens,
      divergence: sum.divergence + part.divergence,
      ratios: sum.ratios + part.ratios,
      squares: sum.squares + part.squares,
      histogram: sum.histogram.map((count, bin) => count + (part.histogram[bin] ?? 0)),
    }),
    ratioSums([]),
  )
}

/** @returns undefined without a token */
export function ratioStatistics({
  tokens,
  divergence,
  ratios,
  squares,
  histogram,
}: RatioSums): RatioStatistics | undefined {
  if (tokens === 0) return undefined
  return {
    tokens,
    kl: divergence / tokens,
    effectiveShare: Math.min(1, (ratios * ratios) / (tokens * squares)),
    histogram: histogram.map((count) => count / tokens),
  }
}
