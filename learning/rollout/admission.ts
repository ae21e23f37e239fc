/**
 * Admission: how many groups may start, and which of the finished ones the next update takes.
 *
 * Invariants
 * - [ADMISSION-1] No group is ever consumed more than η versions after the one it was admitted with.
 * - [ADMISSION-2] Nothing waits for ever: when every admitted group has ended, an update can be made.
 * - [ADMISSION-3] When the bound is lowered, as few groups as possible are given up, those in flight first.
 * - [ADMISSION-4] With η = 0 all groups of an update belong to the version that it improves.
 */

/** The settings that bound the staleness of a run. */
export interface StalenessBound {
  /** B, groups of one update. */
  readonly groupsPerUpdate: number
  /** η, versions that a group may be behind at its update. */
  readonly maxStaleness: number
  /** Groups that may be in flight at once; null or undefined: as many as staleness allows. */
  readonly groupsInFlight?: number | null | undefined
}

/**
 * True for a run whose updates wait for all of their groups: it is a function of its configuration, so what it
 * samples and draws must not depend on anything that a fault changes.
 */
export function isSynchronous({ maxStaleness }: Pick<StalenessBound, 'maxStaleness'>): boolean {
  return maxStaleness === 0
}

/**
 * Groups that may be admitted now: at most (η + 1) · B may be admitted beyond those consumed, never more than
 * the remaining updates need, and no more at once than may be in flight.
 * @param now.outstanding groups in flight, ready and in training
 * @returns at least 0
 * @example admissible({ groupsPerUpdate: 4, maxStaleness: 1 }, { outstanding: 5, inFlight: 3, updatesLeft: 10 }) // 3
 */
export function admissible(
  { groupsPerUpdate, maxStaleness, groupsInFlight }: StalenessBound,
  now: { readonly outstanding: number; readonly inFlight: number; readonly updatesLeft: number },
): number {
  const horizon = Math.min(maxStaleness + 1, Math.max(0, now.updatesLeft))
  const places = groupsInFlight == null ? Number.POSITIVE_INFINITY : groupsInFlight - now.inFlight
  return Math.max(0, Math.min(horizon * groupsPerUpdate - now.outstanding, places))
}

/**
 * The groups that the next update takes: the B ready ones with the oldest versions; undefined while it
 * must wait. Beside waiting for B groups, it waits for a group in flight where continuing without it would
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

/**
 * The groups that no sequence of updates can take within the bound any more. A group of version v can be
 * consumed up to version v + η; of those due up to version + k the next k + 1 updates take (k + 1) · B.
 * Which subsets fit is a matroid (unit jobs with deadlines), so taking groups in the order of preference
 * wherever they still fit keeps as many as can be kept: finished ones before those in flight, newer before older.
 *
 * @param now.version the one that the next update starts from
 * @returns positions, ascending
 * @example overdue({ groupsPerUpdate: 1, maxStaleness: 0 }, { version: 3, ready: [2, 3], inFlight: [3] }) // { ready: [0], inFlight: [0] }
 */
export function overdue(
  { groupsPerUpdate, maxStaleness }: StalenessBound,
  now: { readonly version: number; readonly ready: readonly number[]; readonly inFlight: readonly number[] },
): { readonly ready: readonly number[]; readonly inFlight: readonly number[] } {
  /** [updates] groups kept that are due at each of the next updates. */
  const due = Array.from({ length: maxStaleness + 1 }, () => 0)
  const fits = (admittedAt: number): boolean => {
    const last = admittedAt + maxStaleness - now.version
    if (last < 0) return false
    const place = Math.min(last, maxStaleness)
    let sum = 1
    for (let updates = 0; updates <= maxStaleness; updates++) {
      sum += due[updates] ?? 0
      if (updates >= place && sum > (updates + 1) * groupsPerUpdate) return false
    }
    due[place] = (due[place] ?? 0) + 1
    return true
  }
  const lostAmong = (versions: readonly number[]) =>
    [...versions.keys()]
      .sort((a, b) => (versions[b] ?? 0) - (versions[a] ?? 0) || a - b)
      .filter((position) => !fits(versions[position] ?? 0))
      .sort((a, b) => a - b)
  return { ready: lostAmong(now.ready), inFlight: lostAmong(now.inFlight) }
}
