/**
 * Phase of a run: what it is at, from its start to its end, in the words of its workflow, the command line and the page.
 *
 * Invariants
 * - A run that has ended is in the phase of its status.
 */

/** As the store has it; a run that was killed is `running` until it is resumed. */
export type RunStatus = 'running' | RunEnd

/** How a run ended. */
type RunEnd = 'done' | 'stopped' | 'failed'

export type RunPhase = 'starting' | 'warm_start' | 'evaluating' | 'training' | 'paused' | 'stopping' | RunEnd
