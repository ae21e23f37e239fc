/**
 * Adaptive cross-policy sampling: how often each member of the pool is taken, from what its turns were worth.
 *
 * Invariants
 * - [ADAPTIVE-POOL-1] A weight is from `leastWeight` to 1, and the share of turns from the pool never above the configured one.
 * - [ADAPTIVE-POOL-2] A member that is as the current version in both measures has weight 1; one that diverges more, or wins
 *   less often, has no higher weight.
 * - A member that was not measured keeps the weight that it had, or has 1.
 */
import type { CrossPolicyRule } from './cross-policy.ts'

/** The turns of one origin in an update, and how many of them won. */
export interface TurnWorth {
  readonly turns: number
  /** Turns among them whose episodes were won. */
  readonly won: number
}

/** A member of the pool, as an update measured it. */
export interface MeasuredMember extends TurnWorth {
  readonly version: number
  /** Effective share of its tokens in the update, in (0, 1]: (Σr)² / (n Σr²) over their ratios r. */
  readonly effectiveShare: number
}

/** How often a member is taken, beside one without a fault. */
export interface MemberWeight {
  readonly version: number
  readonly weight: number
}

/** A member that is taken less often could not be measured any more. */
export const leastWeight = 0.1

/**
 * Weight of a member: its effective share, which falls with the variance of the ratios and so with its divergence, times
 * its success by that of the current version's turns, at most 1. Successes are (won + 1) / (turns + 2), so that few turns
 * decide little.
 * @example memberWeight({ version: 3, effectiveShare: 0.8, turns: 98, won: 24 }, { turns: 98, won: 49 }) // 0.8 · 0.25 / 0.5 = 0.4
 */
export function memberWeight(member: MeasuredMember, fresh: TurnWorth): number {
  const success = ({ won, turns }: TurnWorth) => (won + 1) / (turns + 2)
  const bySuccess = Math.min(1, success(member) / success(fresh))
  return Math.min(1, Math.max(leastWeight, member.effectiveShare * bySuccess))
}

/**
 * The weights after an update: halfway from those before to what it has measured.
 * @param pool of which members weights are kept
 */
export function blendedWeights(
  before: readonly MemberWeight[],
  measured: readonly MemberWeight[],
  pool: readonly number[],
): MemberWeight[] {
  const weightIn = (weights: readonly MemberWeight[], version: number) =>
    weights.find((each) => each.version === version)?.weight
  return pool.flatMap((version) => {
    const [old, latest] = [weightIn(before, version), weightIn(measured, version)]
    if (latest === undefined) return old === undefined ? [] : [{ version, weight: old }]
    return [{ version, weight: ((old ?? 1) + latest) / 2 }]
  })
}

/** The rule of a group: each member is taken with its equal part of the share, times its weight. */
export function adaptedRule(
  { staleShare, pool }: Pick<CrossPolicyRule, 'staleShare' | 'pool'>,
  known: readonly MemberWeight[],
): CrossPolicyRule {
  if (pool.length === 0) return { staleShare, pool }
  const weights = pool.map((version) => known.find((each) => each.version === version)?.weight ?? 1)
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length
  return { staleShare: staleShare * mean, pool, weights }
}
