/**
 * Steps of versions: the update at which a version stands among the updates of its run.
 *
 * Invariants
 * - [VERSION-STEP-1] A version stands at the update that made it; one that a roll-back made, at the last update before it;
 *   one from before all updates, at 0.
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
