/**
 * Phase of a run: what it does now, how far its warm start is, whether it is paused or stopping, and how it resumes.
 *
 * Invariants
 * - A reason for a pause is carried while the run is paused, and no longer.
 * - A chunk of the warm start is counted once it is done, and never taken back unless the warm start begins again.
 * - The next execution loses nothing of this one: a batch is ready again, and work in flight is looked for.
 */

import type { Evaluating } from '../../../contract/training-state.ts'
import { isSpent, type Spending } from '../../../learning/run/budget.ts'
import type { RunPhase } from '../../../learning/run/run-phase.ts'
import { clipped, textBytes } from '../../../learning/run/state-bounds.ts'
import type { Changing } from './changing.ts'
import { readmitInstances } from './left-out.ts'

/** Phase while the policy is prepared: a run without demonstrations has no warm start to show. */
export function preparingPhase({ warmStart }: Pick<Changing, 'config'>['config']): RunPhase {
  return warmStart.demonstrations === 0 ? 'starting' : 'warm_start'
}

/** Phase once there is a policy. */
export function trainingPhase({ paused }: Pick<Changing, 'paused'>): RunPhase {
  return paused ? 'paused' : 'training'
}

export function setPhase(state: Changing, phase: RunPhase): void {
  state.phase = phase
}

/** Starts no group and no update from now on; a run in its warm start pauses after it. */
export function pauseRun(state: Changing, reason: string | null): void {
  state.paused = true
  state.pauseReason = reason === null ? null : clipped(reason, textBytes)
  if (state.phase === 'training') state.phase = 'paused'
}

/** Starts groups and updates again, and at once: the person who continues the run has repaired the cause of fruitless groups. */
export function continueRun(state: Changing): void {
  state.paused = false
  state.pauseReason = null
  state.fruitless = 0
  readmitInstances(state)
  if (state.phase === 'paused') state.phase = 'training'
}

/** Ends the run after the update in progress, or at once; a later order cannot postpone a stop. */
export function stopRun(state: Changing, now: boolean): void {
  state.stopRequested = true
  if (now) state.stopNow = true
}

/** Ends the run where it has spent its budget. @param spent undefined where no one asked @returns whether this ends it */
export function settleSpending(state: Changing, spent: Spending | undefined): boolean {
  const { stop } = state.config.training
  if (stop === undefined || spent === undefined || state.isSpent === true || !isSpent(stop, spent))
    return false
  state.isSpent = true
  return true
}

/** Records that the run was cancelled or failed, with the reason. */
export function endRun(state: Changing, phase: 'stopped' | 'failed', message: string): void {
  state.phase = phase
  state.message = clipped(message, textBytes)
}

/**
 * Ends the execution: its batch is ready again, its work in flight is looked for, its failure is forgotten.
 * @param missing evaluations that it may have started after its state was stored
 */
export function interrupt(state: Changing, missing: readonly Evaluating[]): void {
  delete state.message
  state.ready = [...state.training, ...state.ready]
  state.training = []
  state.evaluating = [...state.evaluating, ...missing]
  state.reattach = true
}

/** The next execution looks for what is in flight. */
export function takeOver(state: Changing): void {
  state.reattach = false
}

/** Continues a run that was paused or stopped: a resume is a request to continue. */
export function resumeRun(state: Changing): void {
  continueRun(state)
  state.stopRequested = false
  state.stopNow = false
}

/** Records that the policy is prepared; without demonstrations there is no chunk to do. */
export function beginWarmStart(state: Changing): void {
  const { demonstrations, chunks } = state.config.warmStart
  state.warmStart = { done: 0, total: demonstrations === 0 ? 0 : chunks }
}

/** Counts one more chunk, or the whole warm start where it was found. */
export function countChunk(state: Changing, { found }: { readonly found: boolean }): void {
  if (state.warmStart === null) return
  const { done, total } = state.warmStart
  state.warmStart = found ? { done: total, total, found: true } : { done: done + 1, total }
}

/** The policy must be prepared again, because its settings have changed. */
export function forgetWarmStart(state: Changing): void {
  state.warmStart = null
}
