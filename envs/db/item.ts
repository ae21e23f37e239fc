/**
 * A problem about a database: its tables, the question, and what counts as done.
 *
 * Invariants
 * - Every cell is text or NULL, in the order of the columns.
 */
import type { StateHash, TableData } from '../../worlds/mysql/database.ts'

/** The goal: values that are committed, or a state of the tables, given by its hash or by statements that reach it. */
export type Goal =
  | { readonly kind: 'answer'; readonly answers: readonly string[] }
  | { readonly kind: 'state'; readonly hash: StateHash }
  | { readonly kind: 'effect'; readonly statements: readonly string[] }

/** One problem. */
export interface DbItem {
  readonly id: string
  /** The question that the agent reads. */
  readonly question: string
  readonly tables: readonly TableData[]
  readonly goal: Goal
  /** The kind of problem, for reports by kind. */
  readonly kind: string
}
