/** The audit trail: who ordered what of a run, and when it held. */
import type { SettingValue } from './configuration.ts'

export interface AuditMark {
  readonly number: number
  readonly time: number
  /** A person, a gate or a program. */
  readonly by: string
  /** `pause`, `continue`, `stop`, `evaluate`, `checkpoint`, `rollback`, `promote`, or the key of a setting. */
  readonly what: string
  readonly from: SettingValue
  readonly to: SettingValue
  /** The version that was current. */
  readonly version: number
  /** The version from which on it held; null while it waits. */
  readonly effectVersion: number | null
  readonly reason: string | null
  /** Updates that were done then: its place on the curves. */
  readonly step: number
}
