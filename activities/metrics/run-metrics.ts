/**
 * The metrics of a run: lines are recorded as work is done, and missing lines are made again from the store.
 *
 * Invariants
 * - A line is in the store, and on the disk there, before it is in the file.
 * - A tracker that cannot be written delays nothing; only the end of a run waits for servers to receive their lines, and not for
 *   long.
 * - Making lines again adds those of work that is done and published, and changes none.
 * - An evaluation without a result has no line.
 */
import { log } from '@temporalio/activity'
import { reasonOf } from '../../faults/reason.ts'
import { type RunId, withinRun } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { type EvaluationMetrics, type MetricsLine, placeOf, replaces } from '../../storage/metrics/metrics.ts'
import type { StoredEvaluation, SuiteFigures } from '../../storage/records/evaluations.ts'
import type { Store } from '../../storage/store.ts'
import { writeTrackers } from '../../storage/trackers/tracking.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { metricsOf } from './update-metrics.ts'

/** Figures of an evaluation, as they are stored beside its success. */
export interface EvaluationFigures extends SuiteFigures {
  readonly meanReward: number
  /** Episodes of each instance. */
  readonly samples: number
}

/** Keeps a line and writes the run's files. @throws RangeError, StorageFault */
export async function recordMetrics(
  store: Store,
  { run, config, directory }: Pick<OpenRun, 'run' | 'config' | 'directory'>,
  line: MetricsLine,
): Promise<void> {
  await store.metrics.put(run, line)
  await store.flushed()
  await store.metrics.write(run, directory.metricsFile)
  await updateTrackers(store, { run, config })
}

/** A server that takes longer gets the rest when the run is resumed. */
const patienceMs = 30_000

/** At the end of a run: brings its trackers up to date, and waits for those that are servers. */
export async function finishTrackers(store: Store, open: Pick<OpenRun, 'run' | 'config'>): Promise<void> {
  const { sent } = await updateTrackers(store, open)
  await Promise.race([sent, clock.sleep(patienceMs, { ref: false })])
}

/**
 * Trackers that cannot be written are reported, and brought up to date with the next line: a run never waits for them.
 * @returns what ends, never rejected, when servers have all
 */
async function updateTrackers(
  store: Store,
  { run, config }: Pick<OpenRun, 'run' | 'config'>,
): Promise<{ readonly sent: Promise<void> }> {
  const report = (error: unknown) => log.warn('trackers are not up to date', { run, reason: reasonOf(error) })
  try {
    const { sent } = await writeTrackers(store, run, config.trackers)
    return { sent: sent.catch(report) }
  } catch (error) {
    report(error)
    return { sent: Promise.resolve() }
  }
}

/** True when the run's file and the metrics in the store have all lines of the work that is done. */
export async function hasAllMetrics(store: Store, run: RunId, file: string): Promise<boolean> {
  return (await missingMetrics(store, run)).length === 0 && (await store.metrics.isWritten(run, file))
}

/** Makes the run's file again, and the lines that it lacks. */
export async function restoreMetrics(store: Store, run: RunId, file: string): Promise<void> {
  for (const line of await missingMetrics(store, run)) await store.metrics.put(run, line)
  await store.metrics.write(run, file)
}

/** Lines of work that is done, from its records in the store. */
async function missingMetrics(store: Store, run: RunId): Promise<MetricsLine[]> {
  const known = new Map((await store.metrics.list(run)).map((line) => [keyOf(line), line]))
  const published = (await store.runs.version(run)) ?? -1
  const updates = (await store.updates.list(run)).filter(({ version }) => version <= published)
  const evaluations = await store.evaluations.list(run)
  return [
    // The time of publishing was in the missing line alone: it counts as 0.
    ...updates.map((update) => metricsOf(update, 0)),
    ...evaluations.flatMap((evaluation) => evaluationMetrics(evaluation) ?? []),
  ].filter((line) => {
    const earlier = known.get(keyOf(line))
    return earlier === undefined || replaces(line, earlier)
  })
}

function keyOf(line: MetricsLine): string {
  return placeOf(line).key
}

export function evaluationMetrics({
  id,
  version,
  suite,
  result,
}: StoredEvaluation): EvaluationMetrics | undefined {
  if (result === undefined) return undefined
  const { success, n, planned, lost, ended } = result
  const { meanReward, samples, interval, passAt, judgedBy, measures } =
    result.statistics as unknown as EvaluationFigures
  return {
    evaluation: withinRun(id),
    version,
    suite,
    success,
    n,
    planned,
    lost,
    samples,
    mean_reward: meanReward,
    ...interval,
    ...(passAt === undefined ? {} : { pass_at: passAt }),
    ...(judgedBy === undefined ? {} : { judged_by: judgedBy }),
    ...(measures === undefined ? {} : { measures }),
    time: new Date(ended).toISOString(),
  }
}
