/**
 * Audit activities: a run's orders are recorded in its audit trail.
 *
 * Invariants
 * - Recording an order twice changes nothing.
 */
import type { RunId } from '../identity/identity.ts'
import type { AuditEntry } from '../storage/records/audit.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './calls/failure.ts'

export type { AuditEntry, AuditValue } from '../storage/records/audit.ts'

export type AuditActivities = ReturnType<typeof createAuditActivities>

export function createAuditActivities({ store }: { readonly store: Store }) {
  return failing({
    async recordOrders(request: {
      readonly run: RunId
      readonly entries: readonly AuditEntry[]
    }): Promise<void> {
      await store.audit.put(request.run, request.entries)
    },
  })
}
