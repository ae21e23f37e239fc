import type { Value } from '../values/value.ts'

/** What an aggregate keeps of the rows that it has seen. */
export interface Accumulator {
  add(values: readonly Value[]): void
  result(): Value
}
