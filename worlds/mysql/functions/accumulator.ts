import type { Value } from '../values/value.ts'

/** The state of an aggregate over the rows so far. */
export interface Accumulator {
  add(values: readonly Value[]): void
  result(): Value
}
