/**
 * Cross-policy sampling: which policy version a turn is sampled from.
 * Source: arXiv 2510.04206, cross-policy sampling.
 *
 * Invariants
 * - Each draw uses exactly two uniforms, whatever comes of it.
 * - [CROSS-POLICY-1] The current version is never drawn as a stale one.
 * - [CROSS-POLICY-2] The pool is ascending and never larger than its size.
 */

/** A rule without a share or a pool always samples the current version. */
export interface CrossPolicyRule {
  /** Probability that a turn is sampled from the pool. */
  readonly staleShare: number
  /** Versions that may be sampled from beside the current one. */
  readonly pool: readonly number[]
  /** [pool] how often each is taken, relative to the others; equally often by default. */
  readonly weights?: readonly number[]
}

/**
 * The version of one turn: with probability `staleShare` a member of the pool that is older than the
 * current version, otherwise the current one.
 * @param uniforms two numbers in [0, 1): the first decides on the share, the second on the member
 * @throws RangeError weights that do not fit the pool
 * @example drawVersion(9, { staleShare: 0.25, pool: [3, 6] }, [0.2, 0.7]) // 6
 */
export function drawVersion(
  current: number,
  rule: CrossPolicyRule,
  uniforms: readonly [number, number],
): number {
  const { pool, weights } = rule
  if (weights !== undefined && (weights.length !== pool.length || weights.some((weight) => !(weight >= 0))))
    throw new RangeError(
      `${weights.length} weights for ${pool.length} versions, expected one of at least 0 for each`,
    )
  const members = pool
    .map((version, position) => ({ version, weight: weights?.[position] ?? 1 }))
    .filter(({ version, weight }) => version < current && weight > 0)
  if (members.length === 0 || uniforms[0] >= rule.staleShare) return current
  let rest = uniforms[1] * members.reduce((sum, member) => sum + member.weight, 0)
  for (const { version, weight } of members) {
    if (rest < weight) return version
    rest -= weight
  }
  return members.at(-1)?.version ?? current
}

/**
 * The pool after an update: every `refreshEvery` updates it takes in the current version and lets the oldest
 * go beyond `poolSize`. The newest member is sampled from as soon as a later version is current.
 * @param step number of the update, from 1; `current` is the version that it published
 * @returns a new pool, ascending
 * @example refreshPool([], { step: 25, current: 25 }, { poolSize: 2, refreshEvery: 25 }) // [25]
 */
export function refreshPool(
  pool: readonly number[],
  update: { readonly step: number; readonly current: number },
  schedule: { readonly poolSize: number; readonly refreshEvery: number },
): number[] {
  const due = update.step % schedule.refreshEvery === 0 && !pool.includes(update.current)
  const next = due ? [...pool, update.current] : [...pool]
  return schedule.poolSize === 0 ? [] : next.slice(-schedule.poolSize)
}
