/**
 * A shop with its goals: what the task plays, whether published or built in.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import type { InstanceId, Split } from '../environment.ts'
import type { NounReader } from './data/nouns.ts'
import type { Goal } from './shop/goal.ts'
import type { Shop } from './shop/product.ts'

/** A shop with its goals. */
export interface GoalLibrary {
  readonly shop: Shop
  readonly nouns: NounReader
  readonly splits: readonly Split[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** @throws EnvironmentFault unknown_instance */
  goalOf(instance: InstanceId): Goal
  close(): void
}
