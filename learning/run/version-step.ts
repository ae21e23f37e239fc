/**
 * Steps of versions: the update of its run that a version belongs to.
 *
 * Invariants
 * - [VERSION-STEP-1] A version belongs to the update that made it; one that a roll-back made, to the last update before it;
 *   one from before all updates, to 0.
 */

/** An update and what it published: the version before where it was refused. */
export interface VersionedUpdate {
  readonly step: number
  readonly version: number
}

/** @param updates in their order */
export function stepOfVersion(updates: readonly VersionedUpdate[], version: number): number {
  // Versions never fall, so the first one that reaches it is found by halving.
  let [from, to] = [0, updates.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((updates[middle]?.version ?? 0) < version) from = middle + 1
    else to = middle
  }
  const reaching = updates[from]
  if (reaching?.version === version) return reaching.step
  return updates[from - 1]?.step ?? 0
}
