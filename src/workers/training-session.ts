/**
 * A session with Perdure: start, watch and steer runs from a program or the command line.
 *
 * Invariants
 * - Closing a session stops what it started (workers, engines, the embedded server's last user) and
 *   leaves every run resumable.
 * - Steering goes through the run's workflow: two sessions see and do the same.
 * - A run is resumed from where its workflow stands, or from the state of its last publication.
 */
import { join, resolve } from 'node:path'
import { Client, Connection, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { definitionOf } from '../activities/open-runs.ts'
import { inHome } from '../config/home-paths.ts'
import { configSchema, type RunConfig } from '../config/schema.ts'
import { type RunId, runId, workflowIdOf } from '../identity.ts'
import { createHome } from '../storage/home.ts'
import { requireRoom } from '../storage/room.ts'
import type { StoredRun } from '../storage/runs.ts'
import { openStore } from '../storage/store.ts'
import { lookAround, type RunProgress, searchAttributes } from '../workflows/messages.ts'
import { taskQueue, workflowTaskTimeout } from '../workflows/task-queues.ts'
import type { trainingRun } from '../workflows/training-run.ts'
import { currentState, initialState, type TrainingState } from '../workflows/training-state.ts'
import { createRunBranches, type RunBranches } from './branches.ts'
import { goOnChanged } from './changed-run.ts'
import { connect } from './connection.ts'
import { watchDisk } from './disk-watch.ts'
import { createRunEvaluations, type RunEvaluations } from './evaluations.ts'
import { refuseFormerExecution } from './former-execution.ts'
import { createGoodVersion } from './good-version.ts'
import { homeNameOn } from './home-name.ts'
import { watchHome } from './home-watch.ts'
import { keepHouse } from './housekeeping.ts'
import { insertRun } from './new-run.ts'
import { dataConverter, unread } from './payload-encryption.ts'
import { findOlderWorkflows } from './restored-home.ts'
import { type Role, type RoleWorkerOptions, roles, startRoleWorkers } from './role-workers.ts'
import type { RunChange } from './run-change.ts'
import { createRunsProgress, type RunsProgress } from './run-progress.ts'
import { stateToBeginAgainFrom, stateToGoOnFrom } from './run-state.ts'
import { createRunSteering, type RunSteering } from './run-steering.ts'
import { installRuntime, sdkMetricsPort } from './runtime.ts'
import { createServerCalls } from './server-calls.ts'
import { runExists, SessionFault } from './session-fault.ts'
import { keepTakingOver } from './takeover.ts'
import { type MetricsPlace, portForSdk, startTelemetry, type Telemetry } from './telemetry/telemetry.ts'

export type {
  EvaluationSummary,
  FailedEvaluation,
  LearningChange,
  RunPhase,
  RunProgress,
} from '../workflows/messages.ts'
export type { BranchFindings, EpisodeRow } from './branches.ts'
export type {
  EvaluationOptions,
  EvaluationSchedule,
  Promotion,
  Timing,
} from './evaluations.ts'
export { type Role, roles } from './role-workers.ts'
export type { AuditEntry, SettingsChange } from './run-steering.ts'

export interface SessionOptions
  extends Pick<
    RoleWorkerOptions,
    'createEngine' | 'createTrainer' | 'findEnvironment' | 'shared' | 'workflows'
  > {
  readonly home: string
  /** `client` starts no workers. */
  readonly roles: 'all' | 'client' | readonly Role[]
  readonly log: (line: string) => void
  /** Milliseconds between two looks at the disk of the home; 5 seconds by default. */
  readonly diskLookMs?: number
  /** Milliseconds between two looks at what other builds of the workflows have left; a minute by default. */
  readonly takeoverLookMs?: number
  /** Gives up opening the session; what was opened by then is closed, and `openSession` rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Who gives orders, for the audit trail; the user of this process by default. */
  readonly by?: string
  /** Where Prometheus may fetch metrics; nowhere by default. Another host than loopback needs a token. */
  readonly metrics?: MetricsPlace | undefined
}

export interface TrainingSession
  extends RunsProgress,
    RunSteering,
    RunEvaluations,
    RunBranches,
    AsyncDisposable {
  /** Address of the Temporal UI, where there is one. */
  readonly uiUrl: string | undefined
  /** Settles when the workers of this session stop; never for a client. @throws StorageFault the home is lost */
  readonly stopped: Promise<void>
  /** Starts a run; a run of that name that exists already is a SessionFault `run_exists`. */
  start(run: string, config: RunConfig): Promise<void>
  /**
   * Goes on with a run after a crash or a stop; a finished one is left as it is.
   * @param change another configuration, from `runChangeOf`; with more updates a finished run goes on too
   */
  resume(run: string, change?: RunChange): Promise<void>
  close(): Promise<void>
}

/** Opens a session: connects (starting the embedded server where none is named) and starts the workers. */
export async function openSession(options: SessionOptions): Promise<TrainingSession> {
  const wanted = options.roles === 'all' ? roles : options.roles === 'client' ? [] : options.roles
  if (wanted.length > 0) requireRoom(resolve(options.home))
  const home = createHome(options.home)
  const { signal } = options
  // What cannot be opened ends the session, and with it what was opened before. The last that was opened is closed
  // first, and what fails to close keeps nothing else open.
  await using opened = new AsyncDisposableStack()
  const metricsPort =
    wanted.length === 0 ? undefined : (sdkMetricsPort() ?? (await portForSdk(options.metrics)))
  const telemetry = wanted.length === 0 ? undefined : await tellOfWork()
  opened.defer(() => telemetry?.close())
  const connection = await connect(home.dir, { log: options.log, signal, restartsHung: wanted.length > 0 })
  opened.defer(() => connection.close())
  const store = await openStore(home.storeFile)
  opened.defer(() => store.close())
  const watch = wanted.length > 0 ? await watchHome(home) : undefined
  opened.defer(() => watch?.close())
  const homeName = homeNameOn(connection, store)
  const clientConnection = await Connection.connect(connection.options ?? {})
  const closing = new AbortController()
  opened.defer(() => {
    // A call that still waits when its channel closes is tried again on the closed channel, from a
    // timer, and ends the process.
    closing.abort()
    return clientConnection.close()
  })
  signal?.throwIfAborted()
  const older = wanted.length > 0 ? await findOlderWorkflows(connection, store, home, homeName) : new Map()
  // As late as can be: a runtime that is installed and never used keeps the process alive.
  if (wanted.length > 0)
    installRuntime(join(home.logsDir, 'workers.log'), { onLine: options.log, metricsPort })
  const workers =
    telemetry === undefined
      ? undefined
      : await startRoleWorkers({ ...options, roles: wanted, connection, homeName, telemetry })
  opened.defer(() => workers?.close())
  signal?.throwIfAborted()
  const converter = dataConverter()
  const way = { connection: clientConnection, namespace: connection.namespace }
  const client = new Client({ ...way, ...(converter === undefined ? {} : { dataConverter: converter }) })
  const looking = new Client({ ...way, dataConverter: unread })
  const { ask, describe: describeOn } = createServerCalls(looking, connection)
  const goodVersion = createGoodVersion({ home, store, log: options.log })
  const handleOf = (run: string) =>
    client.workflow.getHandle<typeof trainingRun>(workflowIdOf(homeName, runId(run)))

  const describe = (run: string) => untilClosed(() => describeOn(workflowIdOf(homeName, runId(run))))
  const untilClosed = <T>(call: () => Promise<T>) => client.withAbortSignal(closing.signal, call)

  /** @throws SessionFault `unknown_run` */
  async function stored(run: string): Promise<{ id: RunId; record: StoredRun; config: RunConfig }> {
    const id = runId(run)
    const record = await store.runs.get(id)
    if (record === undefined)
      throw new SessionFault(
        'unknown_run',
        `${home.dir} has no run "${run}"; \`perdure runs\` lists those it has`,
      )
    return { id, record, config: configSchema.parse(record.config) }
  }

  async function launch(
    state: TrainingState,
    workflowIdConflictPolicy: 'FAIL' | 'TERMINATE_EXISTING' = 'FAIL',
  ): Promise<void> {
    const execution = {
      workflowId: workflowIdOf(homeName, state.run),
      workflowIdConflictPolicy,
      taskQueue: taskQueue('orchestrator', homeName),
      workflowTaskTimeout,
      args: [state] as [TrainingState],
      staticSummary: `training run ${state.run}`,
      typedSearchAttributes: [
        { key: searchAttributes.run, value: workflowIdOf(homeName, state.run) },
        // As the execution before said it: what it took in is known to this one.
        ...(state.step > 0 ? [{ key: searchAttributes.version, value: state.version }] : []),
      ],
    }
    await untilClosed(() => client.workflow.start<typeof trainingRun>('trainingRun', execution))
  }

  /** What the run last stored of itself. */
  async function lastState(id: RunId, config: RunConfig): Promise<TrainingState> {
    const state = (await store.runs.state(id)) as TrainingState | undefined
    const { created = Date.now() } = (await store.runs.get(id)) ?? {}
    return currentState(state ?? initialState(id, config, created))
  }

  const { told, ...standing } = createRunsProgress({
    store,
    home: home.dir,
    connection,
    ask,
    handleOf,
    known: stored,
    untilClosed,
    async lastState(run) {
      const { id, config } = await stored(run)
      return lastState(id, config)
    },
  })

  /** Gives up the run's execution for a new one. A run of another home is left to that. */
  async function relaunch(run: RunId): Promise<void> {
    const record = await store.runs.get(run)
    if (record === undefined) return
    const config = configSchema.parse(record.config)
    const state = stateToBeginAgainFrom(await lastState(run, config), config, await store.audit.list(run))
    await launch(state, 'TERMINATE_EXISTING')
  }

  async function tellOfWork(): Promise<Telemetry> {
    const isOrchestrator = wanted.includes('orchestrator')
    return startTelemetry(
      {
        metrics: options.metrics,
        roles: wanted,
        readProgress: () => (isOrchestrator ? progressOfRunning() : Promise.resolve([])),
        createdOf: async (run) => (await store.runs.get(runId(run)))?.created,
        log: options.log,
      },
      metricsPort,
    )
  }

  /** Of the runs that have not ended; one that does not answer is left out. */
  async function progressOfRunning(): Promise<readonly RunProgress[]> {
    const running = (await store.runs.list()).filter(({ status }) => status === 'running')
    const asked = await Promise.allSettled(running.map(({ id }) => told(id)))
    return asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }

  const { by, shared = false } = options
  const steering = createRunSteering({ client, store, handleOf, known: stored, describe, goodVersion, by })
  const { deployment, workflows } = workers ?? {}
  const takeover =
    deployment === undefined || workflows === undefined
      ? undefined
      : keepTakingOver({
          client,
          home: homeName,
          deployment,
          workflows,
          shared,
          relaunch,
          log: options.log,
          everyMs: options.takeoverLookMs,
        })
  if (workers !== undefined) opened.use(careForHome())

  /** What a process with workers does for the home beside its runs. */
  function careForHome(): AsyncDisposableStack {
    const stack = new AsyncDisposableStack()
    const { log } = options
    stack.defer(() => takeover?.close())
    const watch = watchDisk({
      home: home.dir,
      log,
      everyMs: options.diskLookMs,
      running: async () =>
        (await store.runs.list())
          .filter(({ status }) => status === 'running')
          .map(({ id, config }) => ({ run: id, config: configSchema.parse(config) })),
      phase: async (run) => (await told(run)).phase,
      async pause(run, reason) {
        try {
          await steering.pause(run, { by: 'disk watch', reason })
          return true
        } catch (error) {
          if (error instanceof SessionFault && error.kind !== 'no_workers') return false
          throw error
        }
      },
    })
    stack.defer(() => watch.close())
    if (wanted.includes('orchestrator')) {
      const keeping = keepHouse({ home, store, client, homeName, log })
      stack.defer(() => keeping.close())
    }
    return stack
  }

  const branches = createRunBranches({
    client,
    homeName,
    store,
    known: stored,
    goodVersion,
    async definitionOf(config, taskIndex) {
      const entry = inHome(config, home.dir).tasks[taskIndex]
      if (entry === undefined) throw new RangeError(`tasks.${taskIndex} is not configured`)
      return definitionOf(entry, options.findEnvironment)
    },
  })
  const evaluations = createRunEvaluations({ client, homeName, store, home, known: stored, goodVersion, by })

  const all = opened.move()
  return {
    uiUrl: connection.uiUrl,
    stopped: Promise.race([workers?.stopped ?? new Promise<void>(() => {}), ...(watch ? [watch.lost] : [])]),

    async start(run, given) {
      const id = runId(run)
      if ((await store.runs.get(id)) === undefined && (await describe(run))?.status.name === 'RUNNING')
        throw new SessionFault(
          'run_exists',
          `a run ${run} goes on at ${connection.address} that ${home.storeFile} does not know: name another with --run, or terminate workflow ${workflowIdOf(homeName, id)}`,
        )
      const { config, created, precedence } = await insertRun({ home, store }, run, given)
      if (precedence === 'already') throw runExists(run, home.dir)
      await launch(initialState(id, config, created))
    },

    async resume(run, change) {
      const { id, record, config } = await stored(run)
      await takeover?.looked
      const isRunning = (await describe(run))?.status.name === 'RUNNING'
      const difference = isRunning ? older.get(id) : undefined
      if (difference !== undefined && older.delete(id)) {
        options.log(difference)
        await relaunch(id)
      }
      if (isRunning && change === undefined) return handleOf(run).signal(lookAround)
      const state = await lastState(id, config)
      if (state.phase === 'done' && change === undefined) return
      if (!isRunning) await refuseFormerExecution({ client, store, homeName }, record)
      const former = isRunning ? handleOf(run) : undefined
      if (change !== undefined) return goOnChanged({ store, home, by, former, launch }, id, state, change)
      await store.runs.setStatus(id, 'running')
      try {
        await launch(stateToGoOnFrom(state, config, await store.audit.list(id)))
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
    },

    ...standing,

    ...steering,

    ...evaluations,

    ...branches,

    close: () => all.disposeAsync(),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
