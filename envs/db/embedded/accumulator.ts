import type { Value } from './value.ts'

/** What an aggregate keeps of the rows that it has seen. */
export interface Accumulator {
  add(values: readonly Value[]): void
  result(): Value
}
