/**
 * The reason of a failure, in the words of whatever failed first.
 *
 * Invariants
 * - Temporal's own layers ("activity failed") are passed over; what the activity said is kept.
 */
import { ActivityFailure, ChildWorkflowFailure } from '@temporalio/workflow'

/** @returns one sentence for a person */
export function reasonOf(failure: unknown): string {
  const isLayer = failure instanceof ActivityFailure || failure instanceof ChildWorkflowFailure
  const origin = isLayer && failure.cause !== undefined ? failure.cause : failure
  return origin instanceof Error ? origin.message : String(origin)
}
