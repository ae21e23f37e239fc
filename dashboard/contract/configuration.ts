/** A key of a configuration whose values differ. */

export type SettingValue = string | number | boolean | null

export interface Difference {
  /** e.g. `rollout.groupSize`. */
  readonly key: string
  /** The default; null where there is none. What is no single value is JSON text. */
  readonly default: SettingValue
  readonly value: SettingValue
}
