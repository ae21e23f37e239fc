/**
 * Versions of a run: published, kept, rolled back.
 *
 * Invariants
 * - The version of a state only grows.
 */

import { refreshPool } from '../../../learning/rollout/cross-policy.ts'
import { carriedPins } from '../../../learning/run/state-bounds.ts'
import type { Changing } from './changing.ts'

/** Turns are sampled from the version from now on; after an update the pool may admit it. */
export function recordVersion(state: Changing, version: number): void {
  const { version: before, pool, config } = state
  state.version = version
  if (state.step > 0) state.pool = refreshPool(pool, { before, current: version }, config.crossPolicy)
}

/** Keeps the checkpoint of a version; the state holds the latest of them. */
export function pin(state: Changing, version: number): void {
  state.pinned = [...state.pinned.filter((other) => other !== version), version].slice(-carriedPins)
}

/** Asks for an earlier version's weights after the update in progress; a later order replaces this one. */
export function askForRollBack(state: Changing, to: number): void {
  state.rollBackTo = to
}

/** Ends the request for a roll-back that was tried; a later request is carried out next. */
export function settleRollBack(state: Changing, to: number): void {
  if (state.rollBackTo === to) state.rollBackTo = null
}

/** Begins a new line with the restored version; versions newer than its origin are sampled from no more. */
export function beginLine(
  state: Changing,
  { version, origin }: { readonly version: number; readonly origin: number },
): void {
  state.version = version
  state.lineStart = version
  state.pool = state.pool.filter((member) => member <= origin)
}
