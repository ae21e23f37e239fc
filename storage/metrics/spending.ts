/**
 * Spending of a run up to a version, from the lines of its updates.
 *
 * Invariants
 * - Evaluations are no part of it: arms that are measured more often have spent no more.
 */
import type { Spending } from '../../learning/run/budget.ts'
import type { UpdateMetrics } from './metrics.ts'

/**
 * @param updates lines of the updates that led to the version
 * @param of.created when the run began; @param of.at the time that counts before the first update; both in milliseconds
 */
export function spendingOf(
  updates: readonly UpdateMetrics[],
  { created, at }: { readonly created: number; readonly at: number },
): Spending {
  const sum = (of: (update: UpdateMetrics) => number) =>
    updates.reduce((total, update) => total + of(update), 0)
  const last = updates.length === 0 ? at : Math.max(...updates.map(({ time }) => Date.parse(time)))
  return {
    updates: updates.length,
    episodes: sum(({ episodes }) => episodes),
    tokens: sum(({ action_tokens }) => action_tokens),
    seconds: (last - created) / 1000,
  }
}
