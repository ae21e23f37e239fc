/**
 * One question over a graph, wherever it comes from.
 *
 * Invariants
 * - Answers are texts, at least one, as the graph names its entities and values.
 */
import type { KgCall } from './tools.ts'

export interface Question {
  /** The instance's id. */
  readonly id: string
  readonly text: string
  /** Ids by the names that the agent reads. */
  readonly entities: ReadonlyMap<string, string>
  readonly answers: ReadonlySet<string>
  /** Calls whose last variable is the answer, where they are known. */
  readonly gold?: readonly KgCall[] | undefined
}
