/**
 * Runs of an experiment with what their evaluations found: those of a store, or of a report that was written elsewhere.
 *
 * Invariants
 * - Every run of the statement is there once, in its order, begun or not.
 * - A run counts when it is done. Results of single instances are read only on request.
 */
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import type { MeasuredVersion } from '../../config/schema/experiment-schema.ts'
import type { ExperimentRun } from '../../contract/messages.ts'
import type { RunId } from '../../identity/identity.ts'
import type { Kinds } from '../../learning/claims/kinds.ts'
import { bestOf } from '../../learning/evaluation/best-version.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { type Judged, judgedFigure } from '../../learning/evaluation/judgement.ts'
import { type DeclaredMetric, type Measure, statedMeasure } from '../../learning/evaluation/measure.ts'
import { type Budget, isWithin, type Spending } from '../../learning/run/budget.ts'
import type { RunStatus } from '../../learning/run/run-phase.ts'
import type { Shares } from '../../learning/statistics/paired-difference.ts'
import { clock } from '../../machine/services/clock.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { spendingOf } from '../../storage/metrics/spending.ts'
import type { SuiteFigures } from '../../storage/records/evaluations.ts'
import type { StoredExpert } from '../../storage/records/experts.ts'
import type { Store } from '../../storage/store.ts'
import { kindsOf, valuesOf } from './comparison.ts'
import { runsOf } from './experiments.ts'

/** A version on a suite. */
export interface ReportedFigure extends Judged {
  readonly suite: string
  readonly version: number
  /** The mean of the experiment's measure. */
  readonly value: number
  /** How the value is read, where the measure is a metric of the task. */
  readonly metric?: DeclaredMetric | undefined
  readonly n: number
  /** Episodes that were to be played. */
  readonly planned: number
  /** Spent by the run when it had the version; absent in reports of earlier builds. */
  readonly spent?: Spending
}

/** A version on a suite, with its instances. */
export interface MeasuredFigure extends ReportedFigure {
  readonly shares: () => Promise<Shares>
  /** The kinds of its instances; absent where no one knows them. */
  readonly kinds?: () => Promise<Kinds>
}

/** Cost of a run. */
export interface RunCost {
  /** From its start to its end, breaks included. */
  readonly seconds: number
  /** CPU time of the processes with workers; absent where it was not counted. */
  readonly cpuSeconds?: number
  /** With those of evaluations. */
  readonly episodes: number
  /** Sampled by the policy in these. */
  readonly actionTokens: number
}

/** A run as far as it is. */
export interface RunOfExperiment {
  readonly run: RunId
  readonly arm: string
  readonly seed: number
  readonly status: RunStatus | 'waiting'
  readonly cost?: RunCost
  /** The machine of a run that was done elsewhere. */
  readonly machine?: string
}

export interface MeasuredRun extends RunOfExperiment {
  /** By version. */
  readonly figures: readonly MeasuredFigure[]
  /** Success of the experts of its tasks. */
  readonly experts: readonly Pick<StoredExpert, 'suite' | 'success'>[]
}

/** The runs of a statement as a store has them. */
export async function measureRuns(
  store: Store,
  statement: ExperimentStatement,
): Promise<readonly MeasuredRun[]> {
  return await Promise.all(runsOf(statement).map((run) => measureRun(store, statement, run)))
}

/** The measure of an experiment: a metric is read as the results say. */
export function measureOfRuns(
  { measure = 'success' }: Pick<ExperimentStatement, 'measure'>,
  runs: readonly Pick<MeasuredRun, 'figures'>[],
): Measure {
  const [metric] = runs.flatMap(({ figures }) => figures.flatMap((each) => each.metric ?? []))
  return statedMeasure(measure, metric)
}

/** The runs of a statement of which none has begun. */
export function notBegun(statement: ExperimentStatement): readonly MeasuredRun[] {
  return runsOf(statement).map(notBegunRun)
}

function notBegunRun({ run, arm, seed }: Pick<ExperimentRun, 'run' | 'arm' | 'seed'>): MeasuredRun {
  return { run, arm, seed, status: 'waiting', figures: [], experts: [] }
}

async function measureRun(
  store: Store,
  { suites, measure = 'success' }: ExperimentStatement,
  each: Pick<ExperimentRun, 'run' | 'arm' | 'seed'>,
): Promise<MeasuredRun> {
  const { run, arm, seed } = each
  const record = await store.runs.get(run)
  if (record === undefined) return notBegunRun(each)
  const evaluations = (await store.evaluations.list(run)).toSorted((a, b) => a.version - b.version)
  const { episodes, actionTokens } = await store.episodes.totals(run)
  const cpuSeconds = await store.costs.cpuSeconds(run)
  const published = await store.costs.published(run)
  const updates = (await store.metrics.list(run)).filter(isUpdateMetrics)
  return {
    ...{ run, arm, seed, status: record.status },
    figures: evaluations.flatMap(({ id, suite, version, created, result }) => {
      if (result === undefined || !suites.includes(suite)) return []
      const { success, n, planned, statistics } = result
      const { measures: figures, judgedBy = 'success' }: SuiteFigures = statistics
      const { value, better, unit } = (measure === 'success' ? { value: success } : figures?.[measure]) ?? {}
      if (value === undefined) return []
      const metric = better && { better, unit }
      const measured = judgedFigure(judgedBy, figures)
      return [
        {
          ...{ suite, version, value, success, n, planned },
          spent: spendingOf(
            updates.filter((update) => update.version <= version),
            { created: record.created, at: created, version, published },
          ),
          ...(measured && { measured }),
          ...(metric && { metric }),
          shares: () => valuesOf(store, { id }, statedMeasure(measure, metric)),
          kinds: () => kindsOf(store, { id }),
        },
      ]
    }),
    experts: await store.experts.list(run),
    cost: {
      seconds: ((record.ended ?? clock.now()) - record.created) / 1000,
      ...(cpuSeconds === undefined ? {} : { cpuSeconds }),
      episodes,
      actionTokens,
    },
  }
}

/** The runs, and in the place of each that is not done the one that is done elsewhere, where there is one. */
export function completedBy(
  runs: readonly MeasuredRun[],
  elsewhere: readonly MeasuredRun[],
): readonly MeasuredRun[] {
  return runs.map((own) =>
    own.status === 'done' ? own : (elsewhere.find(({ run }) => run === own.run) ?? own),
  )
}

/**
 * The evaluation that counts; undefined until the run is done, and where it is incomplete.
 * @param at the budget within which the last version was reached; the whole run by default
 */
export function figureOf(
  { status, figures }: Pick<MeasuredRun, 'status' | 'figures'>,
  suite: string,
  version: MeasuredVersion,
  at: Budget = {},
): MeasuredFigure | undefined {
  if (status !== 'done') return undefined
  const own = figures.filter(
    (each) => each.suite === suite && (version === 'first' || isWithin(at, each.spent ?? {})),
  )
  if (version === 'best') return bestOf(own)
  // Where the version that counts was measured incompletely, another one does not stand for it.
  const meant = version === 'first' ? own[0] : own.at(-1)
  return meant !== undefined && isComplete(meant) ? meant : undefined
}

/** @param costs one at least */
export function meanCost(costs: readonly RunCost[]): RunCost {
  const mean = (of: (cost: RunCost) => number) =>
    costs.reduce((sum, cost) => sum + of(cost), 0) / costs.length
  const isCounted = costs.every(({ cpuSeconds }) => cpuSeconds !== undefined)
  return {
    seconds: mean(({ seconds }) => seconds),
    ...(isCounted ? { cpuSeconds: mean(({ cpuSeconds = 0 }) => cpuSeconds) } : {}),
    episodes: mean(({ episodes }) => episodes),
    actionTokens: mean(({ actionTokens }) => actionTokens),
  }
}
