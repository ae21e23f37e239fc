/**
 * Earlier settings of a run, from its present ones and its audit trail.
 *
 * Invariants
 * - [PAST-1] Later orders are undone.
 */
import type { AuditEntry } from '../../storage/records/audit.ts'

/** A setting as it held when the update was made that published a version. */
export function settingAt<Value>(
  trail: readonly AuditEntry[],
  { key, version, now }: { readonly key: string; readonly version: number; readonly now: Value },
): Value {
  const own = trail.filter(({ what }) => what === key)
  const held = own.findLast(({ effectVersion }) => effectVersion !== null && effectVersion < version)
  if (held !== undefined) return held.to as Value
  return own[0] === undefined ? now : (own[0].from as Value)
}
