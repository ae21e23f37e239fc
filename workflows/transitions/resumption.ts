/**
 * Resumption of a run: what an execution that ended, however it did, leaves to the next one.
 *
 * Invariants
 * - Nothing that was in progress is lost: a batch is ready again, and what was in flight is looked for first.
 */
import type { Evaluating } from '../training-state.ts'
import type { Changing } from './changing.ts'
import { continueRun } from './phase.ts'

/**
 * The execution is over: its batch is taken again, what it had in flight is looked for, why it failed is past.
 * @param unheard evaluations that it may have started after its state was stored
 */
export function interrupt(state: Changing, unheard: readonly Evaluating[]): void {
  delete state.message
  state.ready = [...state.training, ...state.ready]
  state.training = []
  state.evaluating = [...state.evaluating, ...unheard]
  state.reattach = true
}

/** The next execution looks for what is in flight. */
export function takeOver(state: Changing): void {
  state.reattach = false
}

/** A resume is a request to continue: a run that was paused or stopped is neither any more. */
export function resumeRun(state: Changing): void {
  continueRun(state)
  state.stopRequested = false
  state.stopNow = false
}
