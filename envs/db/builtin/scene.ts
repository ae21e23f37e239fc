/**
 * Scene: the tables of a problem before a question is asked.
 *
 * Invariants
 * - The other row has the columns of the main table, and is not in it.
 */
import type { TableData } from '../item.ts'
import type { CategoryColumn, Domain, NumberColumn } from './domain.ts'

/** Tables of a problem before a question is asked. */
export interface Scene {
  readonly domain: Domain
  readonly categories: readonly CategoryColumn[]
  readonly numbers: readonly NumberColumn[]
  readonly main: TableData
  /** Says a number of each value of the first category; hard problems have it. */
  readonly second?: TableData & { readonly number: NumberColumn }
  /** A row that is not in the table. */
  readonly another: readonly string[]
}
