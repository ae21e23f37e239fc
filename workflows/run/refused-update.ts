/**
 * Refused updates: the run pauses when its trainer has refused an update.
 *
 * Invariants
 * - [REFUSED-UPDATE-1] The run keeps the version that it had and pauses with the reason; continued, it trains on the
 *   groups that come next.
 * - The pause is in the audit trail.
 */
import { log } from '@temporalio/workflow'
import type { TrainingState } from '../../contract/training-state.ts'
import { pauseRun } from '../state/transitions/phase.ts'
import { updatesLeft } from '../state/transitions/pipeline.ts'
import { recordOrders } from './audit-trail.ts'

/** Pauses a run whose last update was refused. @param refused why, in words */
export async function pauseAfterRefusal(state: TrainingState, refused: string): Promise<void> {
  const { step, version } = state
  if (state.stopRequested || updatesLeft(state) === 0) {
    log.warn('the last update was refused', { step, refused })
    return
  }
  if (state.paused) return // by a person, who sees the refusal in the metrics
  const from = state.phase
  const reason = `update ${step} was refused and version ${version} is kept: ${refused}`
  pauseRun(state, reason)
  await recordOrders(state, [{ by: 'trainer', what: 'pause', from, to: state.phase, holds: 'now', reason }])
}
