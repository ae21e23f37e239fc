/**
 * Admission: how many groups may start, and which of the finished ones the next update takes.
 *
 * Invariants
 * - No group is ever consumed more than η versions after the one it was admitted with.
 * - Nothing waits for ever: when every admitted group has ended, an update can be made.
 * - With η = 0 all groups of an update belong to the version that it improves.
 */

/** What bounds a run. */
export interface StalenessBound {
  /** B, groups of one update. */
  readonly groupsPerUpdate: number
  /** η, versions that a group may be behind at its update. */
  readonly maxStaleness: number
}

/**
 * Groups that may be admitted now: at most (η + 1) · B may be admitted beyond those consumed, and never
 * more than the remaining updates need.
 * @param outstanding groups in flight and groups ready
 * @returns at least 0
 * @example admissible({ groupsPerUpdate: 4, maxStaleness: 1 }, { outstanding: 5, updatesLeft: 10 }) // 3
 */
export function admissible(
  { groupsPerUpdate, maxStaleness }: StalenessBound,
  now: { readonly outstanding: number; readonly updatesLeft: number },
): number {
  const horizon = Math.min(maxStaleness + 1, Math.max(0, now.updatesLeft))
  return Math.max(0, horizon * groupsPerUpdate - now.outstanding)
}

/**
 * The groups that the next update takes: the B ready ones with the oldest versions; undefined while it
 * must wait. Beside waiting for B groups, it waits for a group in flight where going on without it would
 * make it too old: a group of version v can be consumed up to version v + η, so after this update the
 * groups that are left with a deadline up to d must fit into the updates up to d.
 *
 * @param version current one, before the update
 * @returns positions in `ready`, ascending
 * @example nextBatch({ groupsPerUpdate: 1, maxStaleness: 0 }, { version: 3, ready: [3, 3], inFlight: [] }) // undefined: the second would be stale
 */
export function nextBatch(
  { groupsPerUpdate, maxStaleness }: StalenessBound,
  now: {
    readonly version: number
    /** [ready] version at which each was admitted. */
    readonly ready: readonly number[]
    /** [inFlight] */
    readonly inFlight: readonly number[]
  },
): number[] | undefined {
  if (now.ready.length < groupsPerUpdate) return undefined
  const oldestFirst = [...now.ready.keys()].sort((a, b) => (now.ready[a] ?? 0) - (now.ready[b] ?? 0) || a - b)
  const taken = oldestFirst.slice(0, groupsPerUpdate)
  const left = [
    ...oldestFirst.slice(groupsPerUpdate).map((position) => now.ready[position] ?? 0),
    ...now.inFlight,
  ]
  for (let updates = 0; updates <= maxStaleness; updates++) {
    const due = left.filter((admittedAt) => admittedAt + maxStaleness <= now.version + updates).length
    if (due > updates * groupsPerUpdate) return undefined
  }
  return taken.sort((a, b) => a - b)
}
