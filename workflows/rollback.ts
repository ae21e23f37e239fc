/**
 * Roll-back: the run goes on from an earlier version's weights and optimizer, as a new version.
 *
 * Invariants
 * - Versions only grow: what is restored gets a number that no version had before.
 * - A checkpoint that cannot be restored leaves the run as it was, and the audit trail says so.
 */
import { log } from '@temporalio/workflow'
import { refuseOrders, settleOrders } from './audit-trail.ts'
import { runActivities } from './dispatch.ts'
import { leaveOverdue } from './steering.ts'
import type { TrainingState } from './training-state.ts'

/** Restores the version that was asked for. @returns the new version to publish; undefined where it cannot be */
export async function restoreVersion(state: TrainingState): Promise<number | undefined> {
  const { run, rollBackTo: to } = state
  if (to === null) return undefined
  const { version, problem } = await runActivities.restoreVersion({ run, to, from: state.version })
  // A second order that came meanwhile is carried out next.
  if (state.rollBackTo === to) state.rollBackTo = null
  if (version === null) {
    log.warn('roll-back not possible', { to, problem })
    await refuseOrders(state, 'rollback', problem)
    return undefined
  }
  state.version = version
  state.lineStart = version
  state.pool = state.pool.filter((member) => member <= to)
  await Promise.all([settleOrders(state), leaveOverdue(state)])
  return version
}
