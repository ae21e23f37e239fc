/**
 * The metrics of a run: what is recorded as it happens, and what can be made again of the rest of the store.
 *
 * Invariants
 * - A line is in the store before it is in the file.
 * - Making again adds lines of work that is done and published, and changes none.
 */
import type { RunId } from '../identity/identity.ts'
import { type MetricsLine, placeOf } from '../storage/metrics.ts'
import type { Store } from '../storage/store.ts'
import { evaluationMetrics } from './evaluation-metrics.ts'
import { metricsOf } from './update-metrics.ts'

/** Keeps a line and writes the run's file. @throws RangeError, StorageFault */
export async function recordMetrics(
  { metrics }: Store,
  run: RunId,
  file: string,
  line: MetricsLine,
): Promise<void> {
  await metrics.put(run, line)
  await metrics.write(run, file)
}

/** Whether the run's file and the metrics in the store hold all that is done. */
export async function hasAllMetrics(store: Store, run: RunId, file: string): Promise<boolean> {
  return (await missingMetrics(store, run)).length === 0 && (await store.metrics.isWritten(run, file))
}

/** Makes the run's file again, and the lines that it lacks. */
export async function restoreMetrics(store: Store, run: RunId, file: string): Promise<void> {
  for (const line of await missingMetrics(store, run)) await store.metrics.put(run, line)
  await store.metrics.write(run, file)
}

/** Lines of work that is done: what it left in the store is enough to make them again. */
async function missingMetrics(store: Store, run: RunId): Promise<MetricsLine[]> {
  const known = new Set((await store.metrics.list(run)).map(keyOf))
  const published = (await store.runs.version(run)) ?? -1
  const updates = (await store.updates.list(run)).filter(({ version }) => version <= published)
  const evaluations = await store.evaluations.list(run)
  return [
    // How long publishing took was written there alone.
    ...updates.map((update) => metricsOf(update, 0)),
    ...evaluations.flatMap((evaluation) => evaluationMetrics(evaluation) ?? []),
  ].filter((line) => !known.has(keyOf(line)))
}

function keyOf(line: MetricsLine): string {
  return placeOf(line).key
}
