/**
 * Staleness: how many versions old a group is when an update consumes it.
 *
 * Invariants
 * - [STALENESS-1] Staleness is never negative; in synchronous mode it is 0.
 */

/**
 * Version at the update minus the oldest current version when any of the group's episodes started.
 * @throws RangeError a group newer than the update
 * @example staleness(7, 5) // 2
 */
export function staleness(versionAtUpdate: number, oldestVersionAtStart: number): number {
  const behind = versionAtUpdate - oldestVersionAtStart
  if (!(behind >= 0))
    throw new RangeError(
      `a group of version ${oldestVersionAtStart} in an update of version ${versionAtUpdate}, expected no newer one`,
    )
  return behind
}

/** Mean and largest staleness of an update's groups; zeros without groups. */
export function stalenessStatistics(values: readonly number[]): {
  readonly mean: number
  readonly max: number
} {
  if (values.length === 0) return { mean: 0, max: 0 }
  return {
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    max: values.reduce((largest, value) => Math.max(largest, value), 0),
  }
}
