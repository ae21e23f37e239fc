/**
 * Audit trail of a run: every order is recorded with who, when, from, to and effect.
 *
 * Invariants
 * - An order has a number of its own, so that it is written once however often it is tried.
 * - An order that waits for the update in progress gets its effect when that update has ended. An order that is replaced by
 *   another of its kind before that has no effect, and the trail says so: the state carries one waiting order of each kind.
 * - [AUDIT-TRAIL-1] Where the store has another order under a number, the workflow is older than the store: the run continues from
 *   the store.
 */
import type { AuditEntry, AuditValue } from '../../activities/run.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { clipped, nameBytes } from '../../learning/run/state-bounds.ts'
import { auditActivities } from '../calls/dispatch.ts'
import { differsFromStore } from '../calls/failure-reason.ts'
import { awaitEffect, numberOrder, removeUnsettled } from '../state/transitions/orders.ts'
import { giveUpState, refuseWhenGivenUp } from './stored-restart.ts'

/** An order that was just accepted, and its change. */
interface NewOrder {
  readonly by: string | undefined
  readonly what: string
  readonly from: AuditValue
  readonly to: AuditValue
  /** `now`: the order holds at once; `later`: from the end of the update in progress on. */
  readonly holds: 'now' | 'later'
  readonly reason?: string
}

/** Records orders in the trail; an order that waits for its effect is remembered. */
export async function recordOrders(state: TrainingState, orders: readonly NewOrder[]): Promise<void> {
  const entries = orders.flatMap((order): readonly AuditEntry[] => {
    const entry = entryOf(state, order)
    if (order.holds === 'now') return [entry]
    const reason = `order ${entry.number} took its place before it held`
    const replaced = awaitEffect(state, entry)
    return [...replaced.map((other) => ({ ...other, reason: other.reason ?? reason })), entry]
  })
  await record(state, entries)
}

async function record(state: TrainingState, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  try {
    await auditActivities.recordOrders({ run: state.run, entries })
  } catch (error) {
    if (!differsFromStore(error)) throw error
    giveUpState(state, error)
    refuseWhenGivenUp(state)
  }
}

function entryOf(state: TrainingState, { by, what, from, to, holds, reason }: NewOrder): AuditEntry {
  return {
    number: numberOrder(state),
    time: Date.now(),
    by: clipped(by ?? 'unknown', nameBytes),
    what,
    from,
    to,
    version: state.version,
    effectVersion: holds === 'now' ? state.version : null,
    reason: reason ?? null,
  }
}

/** Orders that waited hold from the current version on. */
export async function settleOrders(state: TrainingState): Promise<void> {
  const settled = removeUnsettled(state).map((entry) => ({ ...entry, effectVersion: state.version }))
  await record(state, settled)
}

/** Orders that waited cannot be done: they have no effect, and the trail says why. */
export async function refuseOrders(state: TrainingState, what: string, reason: string): Promise<void> {
  const entries = removeUnsettled(state, what).map((entry) => ({ ...entry, reason }))
  await record(state, entries)
}
