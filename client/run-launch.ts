/**
 * Executions of runs: how the workflow of a run is started.
 *
 * Invariants
 * - A run has one execution; a second one is started only in place of the first.
 */
import { type HomeName, type RunId, workflowIdOf } from '../identity/identity.ts'
import type { Store } from '../storage/store.ts'
import { searchAttributes } from '../workflows/messages.ts'
import { taskQueue, workflowTaskTimeout } from '../workflows/task-queues.ts'
import type { trainingRun } from '../workflows/training-run.ts'
import type { TrainingState } from '../workflows/training-state.ts'
import type { RunCalls } from './run-calls.ts'
import { stateToRestartFrom } from './run-state.ts'
import type { StoredRuns } from './stored-runs.ts'

export interface RunLaunch {
  /** Starts an execution. @throws WorkflowExecutionAlreadyStartedError where one has not ended */
  launch(state: TrainingState): Promise<void>
  /** Gives up the run's execution for a new one, from what the store has. A run of another home is left alone. */
  relaunch(run: RunId): Promise<void>
}

interface Dependencies {
  readonly store: Store
  readonly homeName: HomeName
  readonly calls: Pick<RunCalls, 'client' | 'untilClosed'>
  readonly runs: StoredRuns
}

export function createRunLaunch({ store, homeName, calls, runs }: Dependencies): RunLaunch {
  async function start(
    state: TrainingState,
    workflowIdConflictPolicy: 'FAIL' | 'TERMINATE_EXISTING',
  ): Promise<void> {
    const workflowId = workflowIdOf(homeName, state.run)
    const execution = {
      workflowId,
      workflowIdConflictPolicy,
      taskQueue: taskQueue('orchestrator', homeName),
      workflowTaskTimeout,
      args: [state] as [TrainingState],
      staticSummary: `training run ${state.run}`,
      typedSearchAttributes: [
        { key: searchAttributes.run, value: workflowId },
        // As the execution before said it: what it took in is known to this one.
        ...(state.step > 0 ? [{ key: searchAttributes.version, value: state.version }] : []),
      ],
    }
    const { client, untilClosed } = calls
    await untilClosed(() => client.workflow.start<typeof trainingRun>('trainingRun', execution))
  }

  return {
    launch: (state) => start(state, 'FAIL'),

    async relaunch(run) {
      if ((await store.runs.get(run)) === undefined) return
      const { config } = await runs.known(run)
      const state = stateToRestartFrom(await runs.lastState(run), config, await store.audit.list(run))
      await start(state, 'TERMINATE_EXISTING')
    },
  }
}
