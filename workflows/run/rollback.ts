/**
 * Roll-back: the run continues from an earlier version's weights and optimizer, as a new version.
 *
 * Invariants
 * - Versions only grow: the restored weights get a number that no version had before.
 * - A checkpoint that cannot be restored leaves the run as it was, and the audit trail says so.
 */
import { log } from '@temporalio/workflow'
import type { TrainingState } from '../../contract/training-state.ts'
import { runActivities } from '../calls/dispatch.ts'
import { beginLine, settleRollBack } from '../state/transitions/versions.ts'
import { refuseOrders, settleOrders } from './audit-trail.ts'
import { leaveOverdue } from './steering.ts'

/** Restores the version that was asked for. @returns the new version to publish; undefined where it cannot be */
export async function restoreVersion(state: TrainingState): Promise<number | undefined> {
  const { run, rollBackTo: to } = state
  if (to === null) return undefined
  const { version, problem } = await runActivities.restoreVersion({ run, to, from: state.version })
  settleRollBack(state, to)
  if (version === null) {
    log.warn('roll-back not possible', { to, problem })
    await refuseOrders(state, 'rollback', problem)
    return undefined
  }
  beginLine(state, { version, origin: to })
  await Promise.all([settleOrders(state), leaveOverdue(state)])
  return version
}
