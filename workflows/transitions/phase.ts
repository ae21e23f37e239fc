/**
 * Phase of a run: what it does now, and whether it is paused or stopping.
 *
 * Invariants
 * - A reason for a pause is carried while the run is paused, and no longer.
 */
import { clipped, textBytes } from '../../learning/state-bounds.ts'
import type { RunPhase } from '../messages.ts'
import type { Changing } from './changing.ts'

/** What the run does from now on. */
export function enterPhase(state: Changing, phase: RunPhase): void {
  state.phase = phase
}

/** Starts no group and no update from now on; a run in its warm start pauses after it. */
export function pauseRun(state: Changing, reason: string | null): void {
  state.paused = true
  state.pauseReason = reason === null ? null : clipped(reason, textBytes)
  if (state.phase === 'training') state.phase = 'paused'
}

/** Trains again, and at once: the person who continues it has repaired what made groups fruitless. */
export function continueRun(state: Changing): void {
  state.paused = false
  state.pauseReason = null
  state.fruitless = 0
  if (state.phase === 'paused') state.phase = 'training'
}

/** Ends the run after the update in progress, or without waiting for it; a later order does not soften that. */
export function stopRun(state: Changing, now: boolean): void {
  state.stopRequested = true
  if (now) state.stopNow = true
}

/** The run was cancelled or failed, and says why. */
export function endRun(state: Changing, phase: 'stopped' | 'failed', message: string): void {
  state.phase = phase
  state.message = clipped(message, textBytes)
}
