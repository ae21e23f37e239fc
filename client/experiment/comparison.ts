/**
 * Comparison: two policies on the suites that both were measured on.
 *
 * Invariants
 * - [COMPARISON-1] An instance takes part where both have an episode of it that ended with a reward; its samples count
 *   as one value. Instances are the same where task and name are, whatever position they had.
 * - [COMPARISON-2] A run given without a version is measured at the newest one whose evaluation of the suite is complete.
 * - Reads the store alone.
 */
import { inSuiteOrder } from '../../config/suite-order.ts'
import { type RunId, seedOf } from '../../identity/identity.ts'
import type { Kinds } from '../../learning/claims/kinds.ts'
import { newestOf } from '../../learning/evaluation/best-version.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { type JudgedFigure, judgedFigure } from '../../learning/evaluation/judgement.ts'
import { type Measure, measureIn } from '../../learning/evaluation/measure.ts'
import { isRewarded } from '../../learning/evaluation/outcome.ts'
import type { Interval } from '../../learning/statistics/interval.ts'
import {
  type Shares,
  type SuccessDifference,
  successDifference,
} from '../../learning/statistics/paired-difference.ts'
import type { StoredEvaluation, SuiteFigures } from '../../storage/records/evaluations.ts'
import type { Store } from '../../storage/store.ts'

/** A policy. */
export interface Side {
  readonly run: RunId
  readonly version?: number | undefined
}

/** Figures of a policy on a suite. */
export interface SideFindings {
  readonly run: RunId
  readonly version: number
  /** Share of its n episodes that succeeded, in [0, 1]. */
  readonly success: number
  readonly n: number
  /** Episodes that were to be played. */
  readonly planned: number
  /** 95 % interval of the success, where instances have several samples; else it follows from n. */
  readonly interval?: Interval
  /** The measure, where it is another than success and the result has it. */
  readonly measured?: JudgedFigure | undefined
}

export interface SuiteComparison extends SuccessDifference {
  readonly suite: string
  /** The measure whose difference it is. */
  readonly measure: { readonly of: string } & Pick<Measure, 'words' | 'better' | 'isShare' | 'unit'>
  readonly before: SideFindings
  readonly after: SideFindings
}

/**
 * The suites that both were measured on, in the order of the first one's configuration.
 * @param measure that suite's own by default; a suite without it is left out
 */
export async function compareOnSuites(
  store: Store,
  before: Side,
  after: Side,
  measure?: string,
): Promise<readonly SuiteComparison[]> {
  const [first, second] = [await newestBySuite(store, before), await newestBySuite(store, after)]
  const comparisons: SuiteComparison[] = []
  const config = (await store.runs.get(before.run))?.config
  for (const one of inSuiteOrder(config, [...first.values()])) {
    const other = second.get(one.suite)
    if (other !== undefined) comparisons.push(...(await compareOn(store, one.suite, [one, other], measure)))
  }
  return comparisons
}

/** How far a run has come: on each suite the first complete evaluation beside the last one, where there are two. */
export async function compareFirstToLast(store: Store, run: RunId): Promise<readonly SuiteComparison[]> {
  const comparisons: SuiteComparison[] = []
  for (const [suite, all] of await measuredBySuite(store, { run })) {
    const complete = all.filter(({ result }) => isComplete(result)).toSorted((a, b) => a.version - b.version)
    const [first, last] = [complete[0], complete.at(-1)]
    if (first !== undefined && last !== undefined && first !== last)
      comparisons.push(...(await compareOn(store, suite, [first, last])))
  }
  return inSuiteOrder((await store.runs.get(run))?.config, comparisons)
}

type Measured = StoredEvaluation & Required<Pick<StoredEvaluation, 'result'>>

/** Evaluations with a result, of the version that the side means. */
async function measuredBySuite(
  store: Store,
  { run, version }: Side,
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const all = await store.evaluations.list(run)
  const measured = all.flatMap(({ result, ...evaluation }) =>
    result === undefined || (version !== undefined && evaluation.version !== version)
      ? []
      : [{ ...evaluation, result }],
  )
  return Map.groupBy(measured, ({ suite }) => suite)
}

async function newestBySuite(store: Store, side: Side): Promise<ReadonlyMap<string, Measured>> {
  const newest = new Map<string, Measured>()
  for (const [suite, measured] of await measuredBySuite(store, side)) {
    const found = newestOf(measured.map((each) => ({ ...each.result, version: each.version, each })))
    if (found !== undefined) newest.set(suite, found.each)
  }
  return newest
}

async function compareOn(
  store: Store,
  suite: string,
  [before, after]: readonly [Measured, Measured],
  asked?: string,
): Promise<readonly SuiteComparison[]> {
  const of = asked ?? commonMeasure(before, after)
  const measure = measureIn(of, figuresOf(after).measures)
  if (measure === undefined) return []
  const { words, better, isShare, unit } = measure
  const first = await valuesOf(store, before, measure)
  const second = await valuesOf(store, after, measure)
  return [
    {
      suite,
      measure: { of, words, better, isShare, ...(unit === undefined ? {} : { unit }) },
      before: findingsOf(before, of),
      after: findingsOf(after, of),
      ...successDifference(first, second, seedOf(0, 'comparison', suite), measure),
    },
  ]
}

/** The measure that the suite has in both runs. */
function commonMeasure(before: Measured, after: Measured): string {
  const [one = 'success', other = 'success'] = [before, after].map((each) => figuresOf(each).judgedBy)
  return one === other ? one : 'success'
}

function figuresOf({ result }: Measured): SuiteFigures {
  return result.statistics
}

function findingsOf(side: Measured, measure: string): SideFindings {
  const { run, version, result } = side
  const { success, n, planned } = result
  const { interval, passAt, measures: figures } = figuresOf(side)
  const measured = judgedFigure(measure, figures)
  return {
    ...{ run, version, success, n, planned },
    ...(passAt === undefined || interval === undefined ? {} : { interval }),
    ...(measured === undefined ? {} : { measured }),
  }
}

/** The kinds of an evaluation's instances, where the environment names them, by task and instance. */
export async function kindsOf(store: Store, { id }: Pick<StoredEvaluation, 'id'>): Promise<Kinds> {
  const found = new Map<string, string>()
  for (const { id: episode, task, instance } of await store.episodes.list(id)) {
    const key = `${task} ${instance}`
    if (found.has(key)) continue
    const kind = (await store.observations.get(episode, 0))?.info.kind
    if (typeof kind === 'string') found.set(key, kind)
  }
  return found
}

/** A measure of an evaluation by task and instance, as the mean over its samples. */
export async function valuesOf(
  store: Store,
  { id }: Pick<StoredEvaluation, 'id'>,
  measure: Pick<Measure, 'of'>,
): Promise<Shares> {
  const found = new Map<string, { sum: number; of: number }>()
  for (const { task, instance, seal } of await store.episodes.list(id)) {
    if (seal === undefined || !isRewarded(seal.outcome)) continue
    const value = measure.of(seal)
    if (value === undefined) continue
    const key = `${task} ${instance}`
    const { sum, of } = found.get(key) ?? { sum: 0, of: 0 }
    found.set(key, { sum: sum + value, of: of + 1 })
  }
  return new Map([...found].map(([key, { sum, of }]) => [key, sum / of]))
}
