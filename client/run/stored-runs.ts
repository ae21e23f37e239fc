/**
 * Runs as the store of a session knows them; it asks no server.
 */
import { storedCourse } from '../../activities/stored/stored-course.ts'
import { storedConfig } from '../../config/files/stored-config.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { inSuiteOrder } from '../../config/suite-order.ts'
import type { RunProgress } from '../../contract/messages.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { type RunId, runId } from '../../identity/identity.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import type { Store } from '../../storage/store.ts'
import { storedState } from '../../workflows/state/run-state.ts'
import { progressOf } from '../../workflows/state/training-progress.ts'
import { SessionFault } from './session-fault.ts'
import type { SessionHome } from './session-home.ts'

export interface KnownRun {
  readonly id: RunId
  readonly record: StoredRun
  readonly config: RunConfig
}

export interface StoredRuns {
  /** @throws SessionFault `unknown_run` */
  known(run: string): Promise<KnownRun>
  /** The last stored state of a run, with the update that it made since. @throws SessionFault `unknown_run` */
  lastState(run: string): Promise<TrainingState>
  /** Runs that have not ended. */
  running(): Promise<readonly { readonly run: RunId; readonly config: RunConfig }[]>
}

export function createStoredRuns({ home, store }: Pick<SessionHome, 'home' | 'store'>): StoredRuns {
  const unknownRun = (run: string) =>
    new SessionFault('unknown_run', `${home.dir} has no run "${run}"; \`perdure runs\` lists those it has`)

  async function known(run: string): Promise<KnownRun> {
    const id = runId(run)
    const record = await store.runs.get(id)
    if (record === undefined) throw unknownRun(run)
    return { id, record, config: storedConfig(record.config) }
  }

  return {
    known,
    async lastState(run) {
      const course = await storedCourse(store, runId(run))
      if (course === undefined) throw unknownRun(run)
      return storedState(course)
    },
    async running() {
      const runs = await store.runs.list()
      return runs
        .filter(({ status }) => status === 'running')
        .map(({ id, config }) => ({ run: id, config: storedConfig(config) }))
    },
  }
}

/** The same progress with all evaluations of the run, of which it carries the latest alone, and with experts. */
export async function withEvaluations(store: Store, run: RunId, answer: RunProgress): Promise<RunProgress> {
  const { found, failed } = await store.evaluations.findings(run)
  const experts = await store.experts.list(run)
  const config = (await store.runs.get(run))?.config
  const { failedEvaluations: _, ...others } = answer
  return {
    ...others,
    evaluations: inSuiteOrder(config, found),
    ...(experts.length === 0 ? {} : { experts }),
    ...(failed.length === 0 ? {} : { failedEvaluations: failed }),
  }
}

/** Final progress of a run; undefined unless it is done. */
export async function finishedProgress(store: Store, run: RunId): Promise<RunProgress | undefined> {
  if ((await store.runs.get(run))?.status !== 'done') return undefined
  const state = (await store.runs.state(run)) as TrainingState | undefined
  if (state?.phase !== 'done') return undefined
  return withEvaluations(store, run, progressOf(state))
}
