/**
 * Start and resume of runs, and the executions of their workflows.
 *
 * Invariants
 * - A run is resumed from where its workflow is, or from the state of its last publication.
 * - A run that is done is left as it is, unless its configuration is changed.
 * - A run has one execution; a second one is started only in place of the first.
 * - A run's name and configuration are stored first; whatever happens then, `resume` continues it.
 * - Paths that lie in the home are stored so that the home can move.
 * - A run has one execution: none is started beside another that still runs.
 * - A run of another home is left alone, whatever it is called.
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js'
import { withoutHome } from '../../config/files/home-paths.ts'
import { refuseRemovedInUse } from '../../config/files/stored-config.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { lookAround } from '../../contract/messages.ts'
import { taskQueue } from '../../contract/task-queues.ts'
import { initialState, type TrainingState } from '../../contract/training-state.ts'
import { ownServer, type RunId, runId, workflowIdOf } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { createHome, type Home } from '../../storage/disk/home.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import { openStore, type Store } from '../../storage/store.ts'
import type { Precedence } from '../../storage/tables/codec.ts'
import { describedExecution, startPayloads } from '../../temporal/histories.ts'
import { otherNames } from '../../temporal/home-name.ts'
import type { trainingRun } from '../../workflows/run/training-run.ts'
import { trainingStart } from '../../workflows/run/training-start.ts'
import {
  type Relaunch,
  relaunchedState,
  stateToRestartFrom,
  stateToResumeFrom,
} from '../../workflows/state/run-state.ts'
import type { SessionParts } from './run-calls.ts'
import { type RunChange, resumeChanged } from './run-change.ts'
import { runExists, SessionFault } from './session-fault.ts'

export interface RunLaunch {
  /** Starts an execution. @throws WorkflowExecutionAlreadyStartedError where one has not ended */
  launch(state: TrainingState): Promise<void>
  /**
   * Gives up the run's execution for a new one, from what the store has, and says so in the audit trail. A run of
   * another home is left alone.
   */
  relaunch(run: RunId, relaunch: Relaunch): Promise<void>
}

/** A run that has not begun. */
interface NewRun {
  readonly id: RunId
  readonly config: RunConfig
  readonly created: number
}

export function createRunLaunch(parts: SessionParts): RunLaunch {
  const { store, homeName, client, known, lastState } = parts

  async function start(
    state: TrainingState,
    workflowIdConflictPolicy: 'FAIL' | 'TERMINATE_EXISTING',
  ): Promise<void> {
    const execution = {
      ...trainingStart(state, { namespace: client.options.namespace, home: homeName }),
      workflowIdConflictPolicy,
      taskQueue: taskQueue('orchestrator', homeName),
    }
    await client.workflow.start<typeof trainingRun>('trainingRun', execution)
  }

  return {
    launch: (state) => start(state, 'FAIL'),

    async relaunch(run, relaunch) {
      if ((await store.runs.get(run)) === undefined) return
      const { config } = await known(run)
      const stored = stateToRestartFrom(await lastState(run), config, await store.audit.list(run))
      const { state, entries } = relaunchedState(stored, relaunch, clock.now())
      await store.audit.put(run, entries)
      await start(state, 'TERMINATE_EXISTING')
    },
  }
}

export interface RunStart {
  /** Starts a run; a run of that name that exists already is a SessionFault `run_exists`. */
  start(run: string, config: RunConfig): Promise<void>
  /**
   * Continues a run after a crash or a stop; a finished one is left as it is.
   * @param change another configuration, from `runChangeOf`; with more updates a finished run continues too
   */
  resume(run: string, change?: RunChange): Promise<void>
}

interface StartParts extends SessionParts {
  readonly launch: RunLaunch
  /** Runs whose workflows are older than the store, with a message that is printed once. */
  readonly older: Map<RunId, string>
  /** Settles after the first search for workflows of other builds; undefined without workers. */
  readonly looked: Promise<void> | undefined
}

export function createRunStart(parts: StartParts): RunStart {
  const { home, store, server, homeName, describe, handleOf, known, older, looked, log } = parts
  const { launch, relaunch } = parts.launch
  const isRunning = async (run: string) => (await describe(run))?.status.name === 'RUNNING'

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
      const { id, record, config } = await known(run)
      refuseRemovedInUse(`run ${run}`, record.config)
      await looked
      const hasExecution = await isRunning(run)
      const difference = hasExecution ? older.get(id) : undefined
      if (difference !== undefined && older.delete(id)) {
        log(difference)
        await relaunch(id, { reason: difference, paused: false })
      }
      if (hasExecution && change === undefined) return handleOf(run).signal(lookAround)
      const state = await parts.lastState(run)
      if (state.phase === 'done' && change === undefined) return
      if (!hasExecution) await refuseFormerExecution(parts, record)
      const former = hasExecution ? handleOf(run) : undefined
      if (change !== undefined) return resumeChanged({ ...parts, former, launch }, id, state, change)
      await store.failing.remove(id)
      await store.runs.setStatus(id, 'running')
      try {
        await launch(stateToResumeFrom(state, config, await store.audit.list(id)))
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
    },
  }
}

/** Stores a run. @returns `already` where there is one of that name, which stays as it is */
async function insertRun(
  { home, store }: { readonly home: Home; readonly store: Store },
  run: string,
  given: RunConfig,
): Promise<NewRun & { readonly precedence: Precedence }> {
  const created = { id: runId(run), config: withoutHome(given, home.dir), created: clock.now() }
  return { ...created, precedence: await store.runs.insert(created) }
}

/** The same where no session is open. */
export async function recordRun(directory: string, run: string, config: RunConfig): Promise<void> {
  const home = createHome(directory)
  await using store = await openStore(home.storeFile)
  await insertRun({ home, store }, run, config)
}

/** @throws SessionFault `refused` where the run still has an execution under another name */
export async function refuseFormerExecution(
  { client, store, homeName }: SessionParts,
  run: StoredRun,
): Promise<void> {
  for (const name of otherNames(homeName, store)) {
    const workflowId = workflowIdOf(name, run.id)
    if (!(await isRunningFor(client, workflowId, run))) continue
    const way =
      name === ownServer ? 'end the processes that work on it' : 'unset PERDURE_FLEET to continue it there'
    throw new SessionFault(
      'refused',
      `run ${run.id} still runs as workflow ${workflowId}, not as ${workflowIdOf(homeName, run.id)}: ${way}, or terminate that workflow; then \`perdure resume ${run.id}\` continues from its last publication`,
    )
  }
}

/** Whether it is an execution of the very run: a run of another home was not created in the same millisecond. */
async function isRunningFor(client: Client, workflowId: string, { created }: StoredRun): Promise<boolean> {
  if ((await describedExecution(client, workflowId))?.status.name !== 'RUNNING') return false
  const { loadedDataConverter } = client.options
  const state = await decodeFromPayloadsAtIndex<Partial<TrainingState>>(
    loadedDataConverter,
    0,
    await startPayloads(client, workflowId),
  )
  return state?.startedAt === created
}
