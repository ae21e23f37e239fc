/** A key of a configuration whose values differ. */

export type SettingValue = string | number | boolean | null

export interface Difference {
  /** e.g. `rollout.groupSize`. */
  readonly key: string
  /** The default; null where there is none. A list or an object is JSON text. */
  readonly default: SettingValue
  readonly value: SettingValue
}
