/**
 * The list of runs.
 *
 * Invariants
 * - The costly parts, the curve and the disk of each run, are kept as long as the run does not change, and the
 *   disk for `diskAgeMs` at least.
 */
import { inSuiteOrder } from '../../config/suite-order.ts'
import { bestOf } from '../../learning/evaluation/best-version.ts'
import type { Estimate } from '../../learning/evaluation/measure.ts'
import { type Interval, wilsonInterval } from '../../learning/statistics/interval.ts'
import { readPromotion } from '../../policy/checkpoints/promotion.ts'
import type { EvaluationFindings } from '../../storage/records/evaluations.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'
import { type RunDisk, runDisk } from '../../storage/run-disk.ts'
import type { RunRow, RunsAnswer, SuiteFinding, SuiteRow } from '../contract/run.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { detailOf, knownRun, phaseOf, type ShownRun } from './known-run.ts'

const curvePoints = 60
const diskAgeMs = 60_000

/** The kept answers of a run. */
interface Kept {
  readonly step: number
  readonly curve: readonly number[]
}

export interface RunRows {
  list(): Promise<RunsAnswer>
  row(run: ShownRun): Promise<RunRow>
  disk(run: ShownRun): Promise<RunDisk>
}

export function createRunRows(shown: ShownHome): RunRows {
  const { home, store } = shown
  const curves = new Map<string, Kept>()
  const disks = new Map<string, { readonly at: number; readonly disk: Promise<RunDisk> }>()

  async function curveOf({ id }: ShownRun, step: number): Promise<readonly number[]> {
    const known = curves.get(id)
    if (known?.step === step) return known.curve
    const curve = thinned(await store.metrics.successes(id), curvePoints)
    curves.set(id, { step, curve })
    return curve
  }

  function disk({ id }: ShownRun): Promise<RunDisk> {
    const known = disks.get(id)
    if (known !== undefined && performance.now() - known.at < diskAgeMs) return known.disk
    const found = runDisk(home, store, id)
    disks.set(id, { at: performance.now(), disk: found })
    found.catch(() => disks.delete(id))
    return found
  }

  async function row(run: ShownRun): Promise<RunRow> {
    const { id, record, config, state } = run
    const latest = await store.updates.latest(id)
    const { found } = await store.evaluations.findings(id)
    const promoted = await readPromotion(home.run(id).checkpointsDir)
    const { checkpoints, batches, trajectories } = await disk(run)
    const step = latest?.step ?? 0
    const detail = detailOf(run)
    return {
      run: id,
      status: record.status,
      phase: phaseOf(run),
      ...(detail === undefined ? {} : { detail }),
      tasks: config.tasks.map(({ task }) => task),
      step,
      updates: config.training.updates,
      version: record.version ?? null,
      ...(promoted === undefined ? {} : { promoted: promoted.version }),
      success: successOf(latest),
      curve: await curveOf(run, step),
      suites: suitesOf(inSuiteOrder(config, found)),
      created: record.created,
      changed: latest?.created ?? record.created,
      ...(record.ended === undefined ? {} : { ended: record.ended }),
      episodes: state.episodes,
      bytes: checkpoints + batches + trajectories,
    }
  }

  return {
    async list() {
      const rows: RunRow[] = []
      for (const { id } of await store.runs.list()) rows.push(await row(await knownRun(shown, id)))
      return { runs: rows }
    },
    row,
    disk,
  }
}

function successOf(update: StoredUpdate | undefined): Readonly<Record<string, number>> {
  const { success } = update?.statistics ?? {}
  return typeof success === 'object' && success !== null ? (success as Record<string, number>) : {}
}

function suitesOf(found: readonly EvaluationFindings[]): readonly SuiteRow[] {
  return [...Map.groupBy(found, ({ suite }) => suite)].flatMap(([suite, own]) => {
    const [best, latest] = [bestOf(own), own.toSorted((a, b) => a.version - b.version).at(-1)]
    if (latest === undefined) return []
    return [{ suite, best: best === undefined ? null : findingOf(best), latest: findingOf(latest) }]
  })
}

function findingOf(found: EvaluationFindings): SuiteFinding {
  const { version, n, planned, measured } = found
  return { version, n, planned, success: estimateOf(found), ...(measured && { measured }) }
}

/** Means of so many stretches of equal length, at most. @example thinned([1, 2, 3, 4], 2) // [1.5, 3.5] */
export function thinned(values: readonly number[], points: number): readonly number[] {
  if (values.length <= points) return values
  return Array.from({ length: points }, (_, point) => {
    const stretch = values.slice(
      Math.floor((point * values.length) / points),
      Math.floor(((point + 1) * values.length) / points),
    )
    return stretch.reduce((sum, value) => sum + value, 0) / stretch.length
  })
}

/** @param found.interval where instances have several samples; else Wilson's of n trials */
export function estimateOf(found: {
  readonly success: number
  readonly n: number
  readonly interval?: Interval | undefined
}): Estimate {
  const { success, n, interval } = found
  // Without an episode that ended with a reward nothing is known.
  const { low, high } = interval ?? (n === 0 ? { low: 0, high: 1 } : wilsonInterval(success * n, n))
  return { value: success, low, high }
}
