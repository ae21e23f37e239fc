/**
 * Warm start of a run: its chunks, counted.
 *
 * Invariants
 * - A chunk is counted once it is done, and never taken back unless the warm start begins anew.
 */
import type { Changing } from './changing.ts'

/** The policy is prepared; without demonstrations there is no chunk to do. */
export function beginWarmStart(state: Changing): void {
  const { demonstrations, chunks } = state.config.warmStart
  state.warmStart = { done: 0, total: demonstrations === 0 ? 0 : chunks }
}

/** One more chunk is done. */
export function countChunk(state: Changing): void {
  if (state.warmStart !== null) state.warmStart = { ...state.warmStart, done: state.warmStart.done + 1 }
}

/** The policy is to be prepared again: it was asked for with other settings. */
export function forgetWarmStart(state: Changing): void {
  state.warmStart = null
}
