/**
 * Start and resume of runs.
 *
 * Invariants
 * - A run is resumed from where its workflow is, or from the state of its last publication.
 * - A run that is done is left as it is, unless its configuration is changed.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { RunConfig } from '../config/schema.ts'
import { type RunId, runId, workflowIdOf } from '../identity/identity.ts'
import { lookAround } from '../workflows/messages.ts'
import { initialState } from '../workflows/training-state.ts'
import { refuseFormerExecution } from './former-execution.ts'
import { insertRun } from './new-run.ts'
import type { RunCalls } from './run-calls.ts'
import { type RunChange, resumeChanged } from './run-change.ts'
import type { RunLaunch } from './run-launch.ts'
import { stateToResumeFrom } from './run-state.ts'
import { runExists, SessionFault } from './session-fault.ts'
import type { SessionHome } from './session-home.ts'
import type { StoredRuns } from './stored-runs.ts'

export interface RunStart {
  /** Starts a run; a run of that name that exists already is a SessionFault `run_exists`. */
  start(run: string, config: RunConfig): Promise<void>
  /**
   * Continues a run after a crash or a stop; a finished one is left as it is.
   * @param change another configuration, from `runChangeOf`; with more updates a finished run continues too
   */
  resume(run: string, change?: RunChange): Promise<void>
}

interface Dependencies {
  readonly place: Pick<SessionHome, 'home' | 'store' | 'server' | 'homeName'>
  readonly calls: RunCalls
  readonly runs: StoredRuns
  readonly launch: RunLaunch
  /** Runs whose workflows are older than the store, with the words for it; each is said once. */
  readonly older: Map<RunId, string>
  /** Settles when what other builds of the workflows left has been looked for; undefined without workers. */
  readonly looked: Promise<void> | undefined
  readonly log: (line: string) => void
  readonly by?: string | undefined
}

export function createRunStart(dependencies: Dependencies): RunStart {
  const { place, calls, runs, older, looked, log, by } = dependencies
  const { home, store, server, homeName } = place
  const { launch, relaunch } = dependencies.launch
  const isRunning = async (run: string) => (await calls.describe(run))?.status.name === 'RUNNING'

  return {
    async start(run, given) {
      const id = runId(run)
      if ((await store.runs.get(id)) === undefined && (await isRunning(run)))
        throw new SessionFault(
          'run_exists',
          `a run ${run} is in progress at ${server.address} that ${home.storeFile} does not know: name another with --run, or terminate workflow ${workflowIdOf(homeName, id)}`,
        )
      const { config, created, precedence } = await insertRun({ home, store }, run, given)
      if (precedence === 'already') throw runExists(run, home.dir)
      await launch(initialState(id, config, created))
    },

    async resume(run, change) {
      const { id, record, config } = await runs.known(run)
      await looked
      const hasExecution = await isRunning(run)
      const difference = hasExecution ? older.get(id) : undefined
      if (difference !== undefined && older.delete(id)) {
        log(difference)
        await relaunch(id)
      }
      if (hasExecution && change === undefined) return calls.handleOf(run).signal(lookAround)
      const state = await runs.lastState(run)
      if (state.phase === 'done' && change === undefined) return
      if (!hasExecution) await refuseFormerExecution({ client: calls.client, store, homeName }, record)
      const former = hasExecution ? calls.handleOf(run) : undefined
      if (change !== undefined) return resumeChanged({ store, home, by, former, launch }, id, state, change)
      await store.runs.setStatus(id, 'running')
      try {
        await launch(stateToResumeFrom(state, config, await store.audit.list(id)))
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
    },
  }
}
