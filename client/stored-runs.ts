/**
 * Runs as the store of a session knows them.
 */
import { configSchema, type RunConfig } from '../config/schema.ts'
import { type RunId, runId } from '../identity/identity.ts'
import type { StoredRun } from '../storage/runs.ts'
import { currentState, initialState, type TrainingState } from '../workflows/training-state.ts'
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
  /** What a run last stored of itself. @throws SessionFault `unknown_run` */
  lastState(run: string): Promise<TrainingState>
  /** Those that have not ended. */
  running(): Promise<readonly { readonly run: RunId; readonly config: RunConfig }[]>
}

export function createStoredRuns({ home, store }: Pick<SessionHome, 'home' | 'store'>): StoredRuns {
  async function known(run: string): Promise<KnownRun> {
    const id = runId(run)
    const record = await store.runs.get(id)
    if (record === undefined)
      throw new SessionFault(
        'unknown_run',
        `${home.dir} has no run "${run}"; \`perdure runs\` lists those it has`,
      )
    return { id, record, config: configSchema.parse(record.config) }
  }

  return {
    known,
    async lastState(run) {
      const { id, record, config } = await known(run)
      const state = (await store.runs.state(id)) as TrainingState | undefined
      return currentState(state ?? initialState(id, config, record.created))
    },
    async running() {
      const runs = await store.runs.list()
      return runs
        .filter(({ status }) => status === 'running')
        .map(({ id, config }) => ({ run: id, config: configSchema.parse(config) }))
    },
  }
}
