/**
 * Versions of a run: published, kept, left for an earlier one.
 *
 * Invariants
 * - The version of a state only grows.
 */
import { refreshPool } from '../../../learning/rollout/cross-policy.ts'
import { carriedPins } from '../../../learning/run/state-bounds.ts'
import type { Changing } from './changing.ts'

/** Makes a version the one that turns are sampled from; after an update the pool may take it in. */
export function recordVersion(state: Changing, version: number): void {
  const { version: before, pool, config } = state
  state.version = version
  if (state.step > 0) state.pool = refreshPool(pool, { before, current: version }, config.crossPolicy)
}

/** Keeps the checkpoint of a version; of many the latest are carried. */
export function pin(state: Changing, version: number): void {
  state.pinned = [...state.pinned.filter((other) => other !== version), version].slice(-carriedPins)
}

/** Asks for an earlier version's weights after the update in progress; a later order replaces this one. */
export function askForRollBack(state: Changing, to: number): void {
  state.rollBackTo = to
}

/** A roll-back was tried; an order that came meanwhile is carried out next. */
export function settleRollBack(state: Changing, to: number): void {
  if (state.rollBackTo === to) state.rollBackTo = null
}

/** Begins a new line with the restored version; what is newer than its origin is sampled from no more. */
export function beginLine(
  state: Changing,
  { version, origin }: { readonly version: number; readonly origin: number },
): void {
  state.version = version
  state.lineStart = version
  state.pool = state.pool.filter((member) => member <= origin)
}
