/**
 * Figures of the versions that sampled an update's tokens: how far the policy is from them, and what they are worth.
 *
 * Invariants
 * - Fresh tokens and tokens of turns that were drawn from the pool have separate figures.
 * - A quantity that was not measured has no figure.
 */

import { mergedRatios, ratioStatistics } from '../../learning/loss/ratio-statistics.ts'
import { type MemberWeight, memberWeight } from '../../learning/rollout/adaptive-pool.ts'
import type { OriginSums } from '../../policy/trainer/update/origins.ts'
import type { UpdateFigures } from '../metrics/update-metrics.ts'
import type { OriginWorth } from './batch-figures.ts'

/** Statistics of the importance ratios of fresh tokens, and of those from the pool. */
export function ratiosByOrigin(
  origins: readonly OriginSums[] = [],
): Pick<UpdateFigures, 'freshRatios' | 'staleRatios'> {
  const ofKind = (isStale: boolean) =>
    ratioStatistics(mergedRatios(origins.filter(({ stale }) => stale === isStale)))
  const [fresh, stale] = [ofKind(false), ofKind(true)]
  return {
    ...(fresh === undefined ? {} : { freshRatios: fresh }),
    ...(stale === undefined ? {} : { staleRatios: stale }),
  }
}

/** The weight of each member of the pool that has both turns in the update and tokens in its batch. */
export function measuredWeights(
  worth: readonly OriginWorth[],
  origins: readonly OriginSums[] = [],
): readonly MemberWeight[] {
  const fresh = worth.find(({ version }) => version === null) ?? { turns: 0, won: 0 }
  return worth.flatMap(({ version, turns, won }) => {
    const sums = origins.find((origin) => origin.stale && origin.version === version)
    const statistics = sums === undefined ? undefined : ratioStatistics(sums)
    if (version === null || statistics === undefined) return []
    const { effectiveShare } = statistics
    return [{ version, weight: memberWeight({ version, effectiveShare, turns, won }, fresh) }]
  })
}
