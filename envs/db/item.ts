/**
 * A problem about a database: its tables, the question, and what counts as done.
 *
 * Invariants
 * - Every cell is text or NULL, in the order of the columns.
 */

/** One table as the agent finds it. */
export interface TableData {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
}

/** The goal: values that are committed, or a state of the tables, given by its hash or by statements that reach it. */
export type Goal =
  | { readonly kind: 'answer'; readonly answers: readonly string[] }
  | { readonly kind: 'state'; readonly hash: StateHash }
  | { readonly kind: 'effect'; readonly statements: readonly string[] }

/** The hash of a state; null for tables without rows, as MySQL has it. */
export type StateHash = string | null

/** One problem. */
export interface DbItem {
  readonly id: string
  /** The question that the agent reads. */
  readonly question: string
  readonly tables: readonly TableData[]
  readonly goal: Goal
}
