/**
 * Audit trail of a run: every order that it takes is written down with who, when, from, to and effect.
 *
 * Invariants
 * - An order has a number of its own, so that it is written once however often it is tried.
 * - An order that waits for the update in hand gets its effect when that update has ended. Where another of its kind
 *   comes before that, it has none, and the trail says so: of each kind one waits, and no more than those are carried.
 */
import type { AuditEntry, AuditValue } from '../activities/audit.ts'
import { clipped, nameBytes } from '../learning/state-bounds.ts'
import { auditActivities } from './dispatch.ts'
import { boundedOrder, type TrainingState } from './training-state.ts'

/** What an order does. */
interface Deed {
  readonly by: string | undefined
  readonly what: string
  readonly from: AuditValue
  readonly to: AuditValue
  /** Whether it holds at once; otherwise from the end of the update in hand on. */
  readonly holds: 'now' | 'later'
  readonly reason?: string
}

/** Enters what has been ordered; what waits for its effect is remembered. */
export async function enterOrders(state: TrainingState, deeds: readonly Deed[]): Promise<void> {
  const entries = deeds.flatMap((deed): readonly AuditEntry[] => {
    const entry = entryOf(state, deed)
    state.orders += 1
    return deed.holds === 'later' ? [...awaitEffect(state, entry), entry] : [entry]
  })
  if (entries.length > 0) await auditActivities.recordOrders({ run: state.run, entries })
}

function entryOf(state: TrainingState, { by, what, from, to, holds, reason }: Deed): AuditEntry {
  return {
    number: state.orders,
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

/** @returns the order that waited in its place, which has no effect any more */
function awaitEffect(state: TrainingState, entry: AuditEntry): readonly AuditEntry[] {
  const isSame = ({ what }: AuditEntry) => what === entry.what
  const replaced = state.unsettled.filter(isSame)
  state.unsettled = [...state.unsettled.filter((other) => !isSame(other)), boundedOrder(entry)]
  const reason = `order ${entry.number} took its place before it held`
  return replaced.map((other) => ({ ...other, reason: other.reason ?? reason }))
}

/** What has waited holds from the current version on. */
export async function settleOrders(state: TrainingState): Promise<void> {
  const settled = state.unsettled.map((entry) => ({ ...entry, effectVersion: state.version }))
  state.unsettled = []
  if (settled.length > 0) await auditActivities.recordOrders({ run: state.run, entries: settled })
}

/** What has waited cannot be done: it has no effect, and the trail says why. */
export async function refuseOrders(state: TrainingState, what: string, reason: string): Promise<void> {
  const refused = state.unsettled.filter((entry) => entry.what === what)
  state.unsettled = state.unsettled.filter((entry) => entry.what !== what)
  const entries = refused.map((entry) => ({ ...entry, reason }))
  if (entries.length > 0) await auditActivities.recordOrders({ run: state.run, entries })
}
