/**
 * A run as the store has it, whether a process works on it or not.
 *
 * Invariants
 * - Only reads; a home without a store has no runs.
 */

import { requireKeptVersion, requireSuiteAndVersion } from '../../client/run/good-version.ts'
import { ancestryOf, checkTurn, recordedEpisode } from '../../client/run/recorded-episode.ts'
import { type RunChange, runChangeOf } from '../../client/run/run-change.ts'
import { runExists } from '../../client/run/session-fault.ts'
import { finishedProgress } from '../../client/run/stored-runs.ts'
import type {
  AuditEntry,
  EvaluationSummary,
  FailedEvaluation,
  Promotion,
  RunProgress,
} from '../../client/session/training-session.ts'
import { meantInstead } from '../../config/files/fault.ts'
import { storedConfig } from '../../config/files/stored-config.ts'
import { inSuiteOrder } from '../../config/suite-order.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { parseWorkflowId, runId } from '../../identity/identity.ts'
import { pageAddress } from '../../identity/page-address.ts'
import type { Standstill } from '../../learning/run/learning-signal.ts'
import type { RunStatus } from '../../learning/run/run-phase.ts'
import { readPromotion } from '../../policy/checkpoints/promotion.ts'
import { type Home, homeAt } from '../../storage/disk/home.ts'
import { hasStore } from '../../storage/place.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import { openStore, type Store } from '../../storage/store.ts'
import type { AskedTotals } from '../../storage/trajectories/answers.ts'
import { CallFault } from '../terminal/failure.ts'

/** A run as its store tells of it. */
export interface RunRecord {
  readonly run: string
  readonly status: RunStatus
  readonly detail?: string
  readonly directory: string
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly ended?: number
  /** Updates done. */
  readonly step: number
  readonly version: number
  /** Updates that had nothing to learn from, and the latest of them in a row. */
  readonly emptyUpdates: number
  readonly nothingLearnt?: Standstill
  readonly evaluations: readonly EvaluationSummary[]
  /** Evaluations that were given up, each with its reason. */
  readonly failedEvaluations?: readonly FailedEvaluation[]
  /** Questions of its environments to models; absent without any. */
  readonly asked?: AskedTotals
  /** The version that users take. */
  readonly promoted?: Promotion
}

async function recordOf(store: Store, home: Home, stored: StoredRun): Promise<RunRecord> {
  const latest = await store.updates.latest(stored.id)
  const { found, failed } = await store.evaluations.findings(stored.id)
  const asked = await store.answers.totals(stored.id)
  const promoted = await readPromotion(home.run(stored.id).checkpointsDir)
  return {
    run: stored.id,
    status: stored.status,
    ...(stored.detail === undefined ? {} : { detail: stored.detail }),
    directory: home.run(stored.id).dir,
    created: stored.created,
    ...(stored.ended === undefined ? {} : { ended: stored.ended }),
    step: latest?.step ?? 0,
    version: latest?.version ?? 0,
    ...learningOf(await store.runs.state(stored.id)),
    evaluations: inSuiteOrder(stored.config, found),
    ...(failed.length === 0 ? {} : { failedEvaluations: failed }),
    ...(asked.answers + asked.faults === 0 ? {} : { asked }),
    ...(promoted === undefined ? {} : { promoted }),
  }
}

// A run that has published nothing has no state.
function learningOf(state: unknown): Pick<RunRecord, 'emptyUpdates' | 'nothingLearnt'> {
  const { emptyUpdates = 0, nothingLearnt } = (state ?? {}) as Partial<TrainingState>
  return {
    emptyUpdates,
    ...(nothingLearnt === undefined || nothingLearnt === null ? {} : { nothingLearnt }),
  }
}

/** All runs of a home, the latest first. */
export async function listRuns(directory: string): Promise<readonly RunRecord[]> {
  const home = homeAt(directory)
  if (!(await hasStore(home.storeFile))) return []
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  const runs = await store.runs.list()
  return await Promise.all(runs.map((stored) => recordOf(store, home, stored)))
}

/** @throws CallFault when the home has no run of that name */
export async function requireRun(directory: string, name: string): Promise<void> {
  await lookUp(directory, name, () => Promise.resolve())
}

/** One run. @throws CallFault when the home has no run of that name */
export async function findRun(directory: string, name: string): Promise<RunRecord> {
  return lookUp(directory, name, recordOf)
}

/** Final progress of a run; undefined unless it is done. @throws CallFault when the home has no run of that name */
export async function findFinished(directory: string, name: string): Promise<RunProgress | undefined> {
  return lookUp(directory, name, (store, _, { id }) => finishedProgress(store, id))
}

/**
 * A recorded episode can be played on from that turn, by that version.
 * @throws CallFault when the home has no such run; SessionFault `unknown_episode`, `unknown_turn`, `unknown_version`
 */
export async function requireTurn(
  directory: string,
  episode: string,
  { turn, version }: { readonly turn: number; readonly version: number | undefined },
): Promise<void> {
  // The UI shows episode ids that may begin with the name of a home.
  const { id } = parseWorkflowId(episode)
  await lookUp(directory, ancestryOf(id).run, async (store, home, { id: run }) => {
    await checkTurn(store, await recordedEpisode(store, id), turn)
    if (version !== undefined) await requireKeptVersion({ home, store }, run, version)
  })
}

/**
 * A run has a suite of that name, the first by default, and a version to measure, the newest by default.
 * @throws CallFault when the home has no such run; SessionFault `unknown_suite`, `unknown_version`
 */
export async function requireMeasurable(
  directory: string,
  name: string,
  wish: { readonly suite: string | undefined; readonly version?: number | undefined },
): Promise<void> {
  await lookUp(directory, name, async (store, home, { id, config }) => {
    await requireSuiteAndVersion({ home, store }, { id, config: storedConfig(config) }, wish)
  })
}

/** @throws SessionFault `run_exists` when the home has a run of that name */
export async function refuseTaken(directory: string, name: string): Promise<void> {
  const home = homeAt(directory)
  if (!(await hasStore(home.storeFile))) return
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  if ((await store.runs.get(runId(name))) !== undefined) throw runExists(name, home.dir)
}

/**
 * Effect of `--set` on a run; undefined when nothing changes.
 * @throws CallFault when the home has no run of that name; ConfigFault a key that may not change, and why
 */
export async function changeOf(
  directory: string,
  name: string,
  set: readonly string[],
): Promise<RunChange | undefined> {
  if (set.length === 0) return undefined
  return lookUp(directory, name, (store, home, { id }) => runChangeOf({ store, home }, id, set))
}

/**
 * Where `perdure ui` shows a run; undefined where its configuration names no such place.
 * @throws CallFault when the home has no run of that name
 */
export async function pageOf(directory: string, name: string): Promise<string | undefined> {
  return lookUp(directory, name, async (_store, _home, { id, config }) => {
    const { dashboardUrl } = storedConfig(config).orchestration
    return dashboardUrl === '' ? undefined : `${dashboardUrl.replace(/\/$/, '')}/${pageAddress('runs', id)}`
  })
}

/** Every order that a run has taken. @throws CallFault when the home has no run of that name */
export async function readAudit(directory: string, name: string): Promise<readonly AuditEntry[]> {
  return lookUp(directory, name, (store, _, { id }) => store.audit.list(id))
}

async function lookUp<T>(
  directory: string,
  name: string,
  look: (store: Store, home: Home, stored: StoredRun) => Promise<T>,
): Promise<T> {
  const home = homeAt(directory)
  let known: readonly string[] = []
  if (await hasStore(home.storeFile)) {
    await using store = await openStore(home.storeFile, { create: false, access: 'read' })
    const stored = await store.runs.get(runId(name))
    if (stored !== undefined) return await look(store, home, stored)
    known = (await store.runs.list()).map(({ id }) => id)
  }
  throw new CallFault(
    'bad_argument',
    `RUN is "${name}": ${home.dir} has no such run${meantInstead(name, known) || '; `perdure runs` lists them'}`,
  )
}
