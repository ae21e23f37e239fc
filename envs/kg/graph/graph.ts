/**
 * The knowledge graph that the tools query, wherever it is stored.
 *
 * Invariants
 * - Answers depend on the graph and the question alone, and lists are in the order of their code units.
 * - A graph that cannot be reached is an EnvironmentFault; a question that it cannot answer in time while it
 *   answers others is a CostlyQuestion, which the agent reads.
 */
import type { Derivation, SetDerivation } from './derivation.ts'

/** The members of a set; `complete` is false where there are more than the graph hands out. */
export interface Members {
  readonly values: ReadonlySet<string>
  readonly complete: boolean
}

/** A knowledge graph that is only read. */
export interface KnowledgeGraph {
  /** The id of a name; undefined where the graph has or allows no such entity. */
  find(name: string): string | undefined
  /** Relations that lead from members of the set to others. */
  relations(set: SetDerivation): Promise<readonly string[]>
  /** Relations from members of the set to numbers or dates. */
  attributes(set: SetDerivation): Promise<readonly string[]>
  members(set: Derivation): Promise<Members>
  /** The type of what a relation leads to, undefined where the graph does not say. */
  typeOf(relation: string): Promise<string | undefined>
  /** Size of a set, undefined where finding out would be a query of its own. */
  sizeOf(set: Derivation): number | undefined
  close(): Promise<void>
}

/** The graph answers others, but not this question within its limits. */
export class CostlyQuestion extends Error {
  override readonly name = 'CostlyQuestion'
  readonly kind = 'costly_question'
}

/** Order of names: by code units, in every locale the same. */
export function sorted(names: Iterable<string>): string[] {
  return [...names].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0))
}

/** Types of values that can be ordered: what leads to them is an attribute. The dotted ones are Freebase's. */
const orderedTypes = ['number', 'date', 'type.int', 'type.float', 'type.datetime']

/** True for types of numbers and dates. */
export function isOrderedType(type: string | undefined): boolean {
  return type !== undefined && orderedTypes.includes(type)
}
