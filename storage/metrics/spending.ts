/**
 * Spending of a run up to a version, from the lines of its updates and what it had cost at publications.
 *
 * Invariants
 * - Evaluations are no part of it, except of the time: arms that are measured more often have spent no more.
 * - [SPENDING-1] Seconds and CPU seconds are counted from the publication of version 0: one arm makes the warm start that all share.
 * - Runs that an earlier build began have seconds from their beginning, and CPU seconds of versions published since.
 */
import type { Spending } from '../../learning/run/budget.ts'
import type { UpdateMetrics } from './metrics.ts'

/** A run when it published a version. */
export interface Published {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Processor time of the run until then, with that of evaluations. */
  readonly cpuSeconds: number
}

/**
 * @param updates lines of the updates that led to the version
 * @param of.created when the run began; @param of.at the time that counts where neither an update nor a publication is known;
 *   both in milliseconds
 */
export function spendingOf(
  updates: readonly UpdateMetrics[],
  {
    created,
    at,
    version,
    published,
  }: {
    readonly created: number
    readonly at: number
    readonly version: number
    readonly published: ReadonlyMap<number, Published>
  },
): Spending {
  const sum = (of: (update: UpdateMetrics) => number) =>
    updates.reduce((total, update) => total + of(update), 0)
  const first = published.get(0) ?? { at: created, cpuSeconds: 0 }
  const own = published.get(version)
  const last = updates.length === 0 ? at : Math.max(...updates.map(({ time }) => Date.parse(time)))
  return {
    updates: updates.length,
    episodes: sum(({ episodes }) => episodes),
    tokens: sum(({ action_tokens }) => action_tokens),
    seconds: ((own?.at ?? last) - first.at) / 1000,
    ...(own && { cpuSeconds: own.cpuSeconds - first.cpuSeconds }),
  }
}
