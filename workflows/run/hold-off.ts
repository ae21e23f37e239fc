/**
 * Hold-off: while no group ends with a result, new groups start less and less often.
 *
 * Invariants
 * - A run whose environments or policy are unavailable continues by itself once they are back, and until then does not wear
 *   out the instances of its tasks.
 * - The first result, or a person who continues the run, ends the hold-off.
 */
import { condition, log, setCurrentDetails } from '@temporalio/workflow'
import type { TrainingState } from '../../contract/training-state.ts'
import { describe } from '../page/training-details.ts'
import { fruitlessWords, holdOffSeconds } from '../state/fruitless-groups.ts'
import { roomForGroups } from '../state/transitions/pipeline.ts'

/** Waits before more groups are admitted, while no group ends with a result. */
export async function holdOff(state: TrainingState): Promise<void> {
  const seconds = holdOffSeconds(state)
  if (seconds === 0 || roomForGroups(state) === 0) return
  const { fruitless } = state
  log.warn(fruitlessWords(state), { seconds })
  setCurrentDetails(describe(state))
  const isLifted = () => state.fruitless < fruitless
  const isSteered = () => state.paused || state.stopRequested || state.rollBackTo !== null
  await condition(() => isLifted() || isSteered(), seconds * 1000)
}
