/**
 * A state that changes: only the transitions of this folder write to the state of a run.
 *
 * Invariants
 * - [TRANSITION-1] Every other file reads the state and calls these functions; it gets a state that it cannot write to.
 * - Lists are replaced and never written into, so that a reader's list stays as it was.
 */
import type { TrainingState } from '../../../contract/training-state.ts'

/** A `TrainingState` is passed as it is. */
export type Changing = { -readonly [Field in keyof TrainingState]: TrainingState[Field] }
