/**
 * The reason of a failure: the message of its first cause.
 *
 * Invariants
 * - Messages of Temporal's own layers ("activity failed") are passed over; the activity's message is kept.
 */
import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/workflow'

/** @returns one sentence for a person */
export function reasonOf(failure: unknown): string {
  const isLayer = failure instanceof ActivityFailure || failure instanceof ChildWorkflowFailure
  const origin = isLayer && failure.cause !== undefined ? failure.cause : failure
  return origin instanceof Error ? origin.message : String(origin)
}

/** The fault that an activity failed with: its class and its kind; undefined for any other failure. */
export function faultOf(failure: unknown): { readonly type: string; readonly kind: string } | undefined {
  // The failure of a local activity has no layer around it.
  const origin = failure instanceof ActivityFailure ? failure.cause : failure
  if (!(origin instanceof ApplicationFailure)) return undefined
  const [detail] = origin.details ?? []
  const isKnown = typeof detail === 'object' && detail !== null && 'kind' in detail
  return isKnown ? { type: origin.type ?? '', kind: String(detail.kind) } : undefined
}

/**
 * True when the store is older or newer than the workflow: the store lacks work that the workflow knows to be done, or has
 * another result of it, e.g. a group in another update.
 */
export function differsFromStore(failure: unknown): boolean {
  const fault = faultOf(failure)
  return fault?.type === 'StorageFault' && (fault.kind === 'missing' || fault.kind === 'conflict')
}
