/**
 * Cross-policy sampling: which policy version a turn is sampled from.
 * Source: arXiv 2510.04206, cross-policy sampling. In its published code the stale engines hold the initial weights from
 * the first step and take in the current ones every 25 steps: what they sample is 12 updates old in the mean, at most 24.
 *
 * Invariants
 * - Each draw uses exactly two uniforms, whatever comes of it.
 * - [CROSS-POLICY-1] The current version is never drawn as a stale one, except version 0 before the first update, when
 *   there is no other.
 * - [CROSS-POLICY-2] The pool is ascending and never larger than its size; it begins with version 0, and is empty only
 *   where its size is 0.
 * - [CROSS-POLICY-3] With one member and no update without a change, a member is at most `refreshEvery` versions old, and
 *   the share of turns from the pool is the configured one at every version.
 */
import { drawnAs, type EpisodeId, seedOfWork, uniforms } from '../../identity/identity.ts'

/** A rule without a share or a pool always samples the current version. */
export interface CrossPolicyRule {
  /** Probability that a turn is sampled from the pool. */
  readonly staleShare: number
  /** Versions that may be sampled from beside the current one. */
  readonly pool: readonly number[]
  /** [pool] how often each is taken, relative to the others; equally often by default. */
  readonly weights?: readonly number[]
}

/** Bounds of the pool. */
export interface PoolSchedule {
  readonly poolSize: number
  /** Versions that its newest member is behind at most. */
  readonly refreshEvery: number
}

/**
 * The version of one turn: with probability `staleShare` a member of the pool that is older than the
 * current version, otherwise the current one.
 * @param current Infinity where a turn is drawn before it is known: then the pool is one of `poolAt`, whose members are older
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

/** The pool before the first update. */
export function firstPool({ poolSize }: Pick<PoolSchedule, 'poolSize'>): number[] {
  return poolSize === 0 ? [] : [0]
}

/**
 * The pool once a version is published: as soon as the newest member would be more than `refreshEvery` versions behind, the
 * version before the published one comes in, and the oldest go beyond `poolSize`. So each member is older than the
 * current version, and no version is without one.
 * @param update.before the version that was current, which is the published one where an update changed nothing
 * @returns a new pool, ascending
 * @example refreshPool([0], { before: 24, current: 25 }, { poolSize: 1, refreshEvery: 24 }) // [24]
 */
export function refreshPool(
  pool: readonly number[],
  update: { readonly before: number; readonly current: number },
  { poolSize, refreshEvery }: PoolSchedule,
): number[] {
  if (poolSize === 0) return []
  const { before, current } = update
  // A run that was resumed with a pool began without.
  const known = pool.length === 0 ? [0] : pool
  const newest = known.at(-1) ?? 0
  const due = newest < before && before < current && current - newest > refreshEvery
  return [...known, ...(due ? [before] : [])].slice(-poolSize)
}

/**
 * The versions that the turns of a group are drawn from, from its admission on: those older than the one that is current then, and
 * so than any that is current later. Before the first update that is version 0 itself.
 */
export function poolAt(version: number, pool: readonly number[]): number[] {
  return pool.filter((member) => member < version || member === 0)
}

/** The uniforms of `drawVersion` for one turn of an episode after the other. @param drawing see `drawnAs` */
export function versionDraws(seed: number, drawing: EpisodeId): () => readonly [number, number] {
  const draw = uniforms(seedOfWork(seed, drawing, 'versions'))
  return () => [draw(), draw()]
}

/** The facts that decide whether a turn is drawn from the pool. */
interface EpisodeDraws {
  /** The seed of the run. */
  readonly seed: number
  readonly episode: EpisodeId
  /** Whether all attempts at a sample draw alike. */
  readonly attemptsDrawAlike: boolean
  readonly staleShare: number
}

/** For each turn of an episode whether it was drawn from the pool: its draws again. @returns [turns] */
export function drawnFromPool(
  { seed, episode, attemptsDrawAlike, staleShare }: EpisodeDraws,
  turns: number,
): boolean[] {
  const draw = versionDraws(seed, drawnAs(episode, attemptsDrawAlike))
  return Array.from({ length: turns }, () => {
    const [ofShare] = draw()
    return ofShare < staleShare
  })
}
