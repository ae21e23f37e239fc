/**
 * Orders of a run: their numbers, and those that wait for the update in progress.
 *
 * Invariants
 * - No two orders have one number; of each kind at most one waits.
 */
import type { AuditEntry } from '../../../activities/run.ts'
import { boundedOrder } from '../../../contract/training-state.ts'
import type { Changing } from './changing.ts'

/** @returns the number of a new order */
export function numberOrder(state: Changing): number {
  const number = state.orders
  state.orders += 1
  return number
}

/** Counts an order of another execution: its number is used. */
export function countOrder(state: Changing, number: number): void {
  state.orders = Math.max(state.orders, number + 1)
}

/** It has its effect after the update in progress. @returns the order that waited in its place, which has none */
export function awaitEffect(state: Changing, order: AuditEntry): readonly AuditEntry[] {
  const replaced = removeUnsettled(state, order.what)
  state.unsettled = [...state.unsettled, boundedOrder(order)]
  return replaced
}

/** Removes the orders that wait. @param what one kind of them; all by default @returns the removed orders */
export function removeUnsettled(state: Changing, what?: string): readonly AuditEntry[] {
  const isRemoved = (order: AuditEntry) => what === undefined || order.what === what
  const removed = state.unsettled.filter(isRemoved)
  state.unsettled = state.unsettled.filter((order) => !isRemoved(order))
  return removed
}
