/**
 * Role workers: the Temporal workers of one process, one per role that it takes on.
 *
 * Invariants
 * - I1 Everything that is started here is stopped by `close`, or when the rest cannot be started, in one order: workers
 *   with the calls in their hands, sessions, engines, trainers, tasks, connection, store. What fails on the way keeps
 *   nothing after it from being stopped.
 * - With local dispatch episodes play in the orchestrator; with server dispatch in the environment workers, which
 *   hold the sessions, and sample through the policy workers' queue.
 */
import { IllegalStateError } from '@temporalio/common'
import {
  GracefulShutdownPeriodExpiredError,
  NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker'
import { createAuditActivities } from '../activities/audit.ts'
import { createBranchActivities } from '../activities/branches.ts'
import { createChildrenActivities } from '../activities/children.ts'
import { createEnvironmentActivities } from '../activities/environment.ts'
import { createEvaluationActivities } from '../activities/evaluation.ts'
import { heartbeating } from '../activities/heartbeat.ts'
import { createOpenRuns } from '../activities/open-runs.ts'
import { createRunActivities } from '../activities/run.ts'
import { createSamplingActivities } from '../activities/sampling.ts'
import { createServing } from '../activities/serving.ts'
import { createCalls } from '../activities/stopping.ts'
import { createTrainingActivities } from '../activities/training.ts'
import { createTrajectoryActivities } from '../activities/trajectory.ts'
import type { Activities } from '../activities/wrapping.ts'
import type { RunConfig } from '../config/schema.ts'
import type { EnvironmentDefinition } from '../envs/environment.ts'
import type { HomeName } from '../identity.ts'
import { isSynchronous } from '../learning/admission.ts'
import { createEmbeddedEngine } from '../policy/engines/embedded.ts'
import type { Engine } from '../policy/engines/engine.ts'
import { createTrainer } from '../policy/trainer/embedded.ts'
import { reasonOf } from '../reason.ts'
import { createHome } from '../storage/home.ts'
import { openStore } from '../storage/store.ts'
import { taskQueue } from '../workflows/task-queues.ts'
import { compressionTo, type TemporalConnection } from './connection.ts'
import { type Deployment, joinDeployment, knowsBuilds, workerOf } from './deployment.ts'
import { registerDeployment } from './deployment-registration.ts'
import { dataConverter } from './payload-encryption.ts'
import { logged } from './runtime.ts'
import { observe } from './telemetry/observation.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import { type CreateTrainer, createTrainers } from './trainers.ts'
import { type BuiltWorkflows, workflowBundle } from './workflow-bundle.ts'
import { withLeanThreads } from './workflow-thread.ts'

/** Roles a process can take on. */
export const roles = ['orchestrator', 'environment', 'policy', 'trainer'] as const
export type Role = (typeof roles)[number]

export interface RoleWorkerOptions {
  readonly connection: TemporalConnection
  /** Whose work the workers do. */
  readonly homeName: HomeName
  readonly home: string
  readonly roles: readonly Role[]
  readonly log: (line: string) => void
  /** The engine of a run; the embedded one by default. */
  readonly createEngine?: (config: RunConfig) => Promise<Engine>
  /** The process's trainer for runs that ask for so many threads; the embedded one by default. */
  readonly createTrainer?: CreateTrainer
  /** The task of a name; those of the registry by default. */
  readonly findEnvironment?: (name: string) => EnvironmentDefinition
  /** Workflows kept in memory. */
  readonly maxCachedWorkflows?: number
  /** Whether processes with other builds of the workflows may be at work, or come back; false by default. */
  readonly shared?: boolean
  /** The folder of the workflow code; that of this package by default. */
  readonly workflows?: string
  /** Who is told what the workers do; nobody by default. */
  readonly telemetry?: Pick<Telemetry, 'observers'>
}

export interface RoleWorkers {
  /** With an orchestrator on a server that keeps builds of the workflows apart. */
  readonly deployment: Deployment | undefined
  /** With a role that runs workflows. */
  readonly workflows: BuiltWorkflows | undefined
  /** Settles when a worker stops, with its error when it failed. */
  readonly stopped: Promise<void>
  close(): Promise<void>
}

/** After it activities in hand hear of the shutdown; what takes longer is done again later. */
const shutdownGraceTime = '1 second'
/** Calls are given up long before: beyond this the server does not answer. */
const shutdownForceTime = '60 seconds'
/** A call that was given up still writes a file or computes a step. */
const workingMs = 10_000

/** Starts the workers of the roles and returns when they poll. */
export async function startRoleWorkers(options: RoleWorkerOptions): Promise<RoleWorkers> {
  const { connection, homeName } = options
  const queue = (role: Role) => taskQueue(role, homeName)
  const log = logged(options.log)
  const home = createHome(options.home)
  const takes = (role: Role) => options.roles.includes(role)
  await using opened = new AsyncDisposableStack()
  const store = await openStore(home.storeFile)
  opened.defer(() => store.close())
  const runs = createOpenRuns({ home, store, findEnvironment: options.findEnvironment })
  const serving = createServing({ runs, createEngine: options.createEngine ?? embeddedEngine, log })
  const trainers = createTrainers(options.createTrainer ?? ((threads) => createTrainer({ threads })))
  const { closeSessions, ...sessions } = createEnvironmentActivities({ store, runs })
  const environment = { ...sessions, ...createBranchActivities({ store }) }
  const sampling = createSamplingActivities({ store, runs, serving })
  const trajectories = createTrajectoryActivities({ store, runs, onSealed: serving.release })

  const native = await NativeConnection.connect({
    ...connection.options,
    grpcCompression: compressionTo(connection.address),
  })
  opened.defer(() => native.close())
  opened.defer(() => runs.close())
  const calls = createCalls()
  opened.defer(() => calls.settled(workingMs))
  opened.defer(() => trainers.closeAll())
  opened.defer(() => serving.closeAll())
  opened.defer(() => closeSessions())
  const observation = observe(options.telemetry?.observers ?? [], (error) =>
    log(`what was done cannot be told: ${String(error)}`),
  )
  const converter = dataConverter()
  const common = {
    connection: native,
    interceptors: { activity: [observation.activity] },
    ...(observation.sinks === undefined ? {} : { sinks: observation.sinks }),
    ...(converter === undefined ? {} : { dataConverter: converter }),
    namespace: connection.namespace,
    shutdownGraceTime,
    shutdownForceTime,
    maxHeartbeatThrottleInterval: '2.5 seconds', // a fourth of the shortest heartbeat timeout
  } satisfies Partial<WorkerOptions>
  const workers: Worker[] = []
  const runnings: Promise<void>[] = []
  let isStopping = false
  opened.defer(async () => {
    isStopping = true
    calls.stop()
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
    await Promise.allSettled(runnings)
  })
  /** One that was made holds on to the connection until it has run. */
  const start = (worker: Worker): void => {
    workers.push(worker)
    const running = runUntilStopped(worker)
    running.catch(() => undefined)
    runnings.push(running)
  }
  const runUntilStopped = async (worker: Worker): Promise<void> => {
    try {
      await worker.run()
    } catch (error) {
      // It says so itself, or that its native part is still in use.
      const isLate = error instanceof GracefulShutdownPeriodExpiredError || error instanceof IllegalStateError
      if (!isStopping || !isLate) throw error
      log(`a worker was left before all it had in hand ended: ${reasonOf(error)}`)
    }
  }
  const workflows =
    takes('orchestrator') || takes('environment')
      ? await workflowBundle({
          observed: observation.sinks !== undefined,
          encrypted: converter !== undefined,
          folder: options.workflows,
        })
      : undefined
  const isVersioned =
    workflows !== undefined &&
    (await knowsBuilds(native)) &&
    (await registerDeployment({ connection: native, namespace: connection.namespace, home: homeName, log }))
  const build = isVersioned ? workflows.build : undefined
  const workflowWorker = (taskQueue: string, activities: Activities, own: Partial<WorkerOptions>) =>
    withLeanThreads(async () =>
      Worker.create({
        ...common,
        ...(build === undefined ? {} : workerOf(homeName, build)),
        taskQueue,
        ...(workflows === undefined ? {} : { workflowBundle: workflows }),
        activities: calls.untilStopping(activities),
        maxCachedWorkflows: options.maxCachedWorkflows ?? 600,
        maxConcurrentLocalActivityExecutions: 2000, // all turns of all episodes may wait for the engine at once
        maxConcurrentWorkflowTaskExecutions: 100,
        // What a dead worker had cached waits that long for it; a busy one costs a replay when it is later.
        stickyQueueScheduleToStartTimeout: '5 seconds',
        ...own,
      }),
    )
  if (takes('orchestrator'))
    start(
      await workflowWorker(
        queue('orchestrator'),
        { ...environment, ...sampling, ...trajectories },
        { enableNonLocalActivities: false },
      ),
    )
  if (takes('environment'))
    start(
      await workflowWorker(
        queue('environment'),
        { ...environment, ...heartbeating(trajectories) },
        { maxConcurrentActivityTaskExecutions: 500 },
      ),
    )
  if (takes('policy'))
    start(
      await Worker.create({
        ...common,
        taskQueue: queue('policy'),
        activities: heartbeating(
          calls.untilStopping({
            ...sampling,
            ...createRunActivities({ store, runs, serving }),
            ...createEvaluationActivities({ store, runs }),
            ...createAuditActivities({ store }),
            ...createChildrenActivities(),
          }),
        ),
        maxConcurrentActivityTaskExecutions: 500,
      }),
    )
  if (takes('trainer'))
    start(
      await Worker.create({
        ...common,
        taskQueue: queue('trainer'),
        activities: heartbeating(
          calls.untilStopping(createTrainingActivities({ home, store, runs, trainerOf: trainers.of, log })),
        ),
        maxConcurrentActivityTaskExecutions: 1, // one update at a time: they share the cores
      }),
    )

  const running = Promise.all(runnings).then(() => undefined)
  running.catch(() => undefined)
  const deployment =
    build !== undefined && takes('orchestrator')
      ? joinDeployment({
          connection: native,
          namespace: connection.namespace,
          home: homeName,
          build,
          shared: options.shared ?? false,
          isAlone: () => connection.isAlone(),
          log,
        })
      : undefined
  opened.defer(() => deployment?.close())
  const all = opened.move()
  return { deployment, workflows, stopped: running, close: () => all.disposeAsync() }
}

function embeddedEngine(config: RunConfig): Promise<Engine> {
  const { threads, contextLength } = config.policy
  // Only a synchronous run is reproducible to the byte: what else is in flight follows from timing otherwise.
  const exact = isSynchronous(config.rollout)
  return createEmbeddedEngine({ threads, contextLength, maxBatch: 64, exact })
}
