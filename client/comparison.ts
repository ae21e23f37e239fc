/**
 * Comparison: two policies on the suites that both were measured on.
 *
 * Invariants
 * - [COMPARISON-1] An instance takes part where both have an episode of it that ended with a reward; its samples count
 *   as one share. Instances are the same where task and name are, whatever position they had.
 * - [COMPARISON-2] Of a run without a version it is the newest one that the suite was played with.
 * - Reads the store alone.
 */
import { inSuiteOrder } from '../config/suite-order.ts'
import { type RunId, seedOf } from '../identity/identity.ts'
import type { Interval } from '../learning/interval.ts'
import { isRewarded } from '../learning/outcome.ts'
import { type PairedDifference, pairedDifference } from '../learning/paired-difference.ts'
import { isSuccess } from '../learning/reward.ts'
import type { StoredEvaluation, SuiteFigures } from '../storage/evaluations.ts'
import type { Store } from '../storage/store.ts'

/** A policy. */
export interface Side {
  readonly run: RunId
  readonly version?: number | undefined
}

/** What a suite said of a policy. */
export interface SideFindings {
  readonly run: RunId
  readonly version: number
  /** Share of its n episodes that succeeded, in [0, 1]. */
  readonly success: number
  readonly n: number
  /** 95 % interval of the success, where instances have several samples; else it follows from n. */
  readonly interval?: Interval
}

export interface SuiteComparison {
  readonly suite: string
  readonly before: SideFindings
  readonly after: SideFindings
  /** Instances that both have played. */
  readonly instances: number
  /** After − before over these, with its 95 % interval; absent where there are none. */
  readonly paired?: PairedDifference
}

/** The suites that both were measured on, in the order of the first one's configuration. */
export async function compareOnSuites(
  store: Store,
  before: Side,
  after: Side,
): Promise<readonly SuiteComparison[]> {
  const [first, second] = [await newestBySuite(store, before), await newestBySuite(store, after)]
  const comparisons: SuiteComparison[] = []
  const config = (await store.runs.get(before.run))?.config
  for (const one of inSuiteOrder(config, [...first.values()])) {
    const other = second.get(one.suite)
    if (other !== undefined) comparisons.push(await compareOn(store, one.suite, one, other))
  }
  return comparisons
}

type Measured = StoredEvaluation & Required<Pick<StoredEvaluation, 'result'>>

/** The newest version of each suite that the side means. */
async function newestBySuite(store: Store, { run, version }: Side): Promise<ReadonlyMap<string, Measured>> {
  const newest = new Map<string, Measured>()
  for (const evaluation of await store.evaluations.list(run)) {
    const { suite, result } = evaluation
    if (result === undefined || (version !== undefined && evaluation.version !== version)) continue
    const known = newest.get(suite)
    if (known === undefined || known.version <= evaluation.version)
      newest.set(suite, { ...evaluation, result })
  }
  return newest
}

async function compareOn(
  store: Store,
  suite: string,
  before: Measured,
  after: Measured,
): Promise<SuiteComparison> {
  const [first, second] = [await sharesOf(store, before), await sharesOf(store, after)]
  const pairs = [...first].flatMap(([instance, share]) => {
    const other = second.get(instance)
    return other === undefined ? [] : [{ before: share, after: other }]
  })
  const seed = seedOf(0, 'comparison', suite)
  return {
    suite,
    before: findingsOf(before),
    after: findingsOf(after),
    instances: pairs.length,
    ...(pairs.length === 0 ? {} : { paired: pairedDifference(pairs, seed) }),
  }
}

function findingsOf({ run, version, result: { success, n, statistics } }: Measured): SideFindings {
  const { interval, passAt }: SuiteFigures = statistics
  return { run, version, success, n, ...(passAt === undefined || interval === undefined ? {} : { interval }) }
}

/** By task and instance, the share of its samples that succeeded. */
export type Shares = ReadonlyMap<string, number>

export async function sharesOf(store: Store, { id }: Pick<StoredEvaluation, 'id'>): Promise<Shares> {
  const shares = new Map<string, { won: number; of: number }>()
  for (const { task, instance, seal } of await store.episodes.list(id)) {
    if (seal === undefined || !isRewarded(seal.outcome)) continue
    const key = `${task} ${instance}`
    const { won, of } = shares.get(key) ?? { won: 0, of: 0 }
    shares.set(key, { won: won + (isSuccess(seal.outcome, seal.reward) ? 1 : 0), of: of + 1 })
  }
  return new Map([...shares].map(([key, { won, of }]) => [key, won / of]))
}
