/**
 * Role workers: the Temporal workers of one process, one per role that it takes on.
 *
 * Invariants
 * - Everything that is started here is stopped by `close`: workers first, then sessions, engines, trainer, store.
 * - With local dispatch episodes play in the orchestrator; with server dispatch in the environment workers, which
 *   hold the sessions, and sample through the policy workers' queue.
 */
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
import { untilStopping } from '../activities/failure.ts'
import { heartbeating } from '../activities/heartbeat.ts'
import { createOpenRuns } from '../activities/open-runs.ts'
import { createRunActivities } from '../activities/run.ts'
import { createSamplingActivities } from '../activities/sampling.ts'
import { createServing } from '../activities/serving.ts'
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

/** Time for activities in hand at a shutdown; what takes longer is done again later. */
const shutdownGraceTime = '1 second'
/** A turn on a slow engine may be in hand; beyond this it is left to the next worker. */
const shutdownForceTime = '20 seconds'

/** Starts the workers of the roles and returns when they poll. */
export async function startRoleWorkers(options: RoleWorkerOptions): Promise<RoleWorkers> {
  const { connection, homeName } = options
  const queue = (role: Role) => taskQueue(role, homeName)
  const log = logged(options.log)
  const home = createHome(options.home)
  const takes = (role: Role) => options.roles.includes(role)
  const store = await openStore(home.storeFile)
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
  const stopping = new AbortController()
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
        activities: untilStopping(stopping.signal, activities),
        maxCachedWorkflows: options.maxCachedWorkflows ?? 600,
        maxConcurrentLocalActivityExecutions: 2000, // all turns of all episodes may wait for the engine at once
        maxConcurrentWorkflowTaskExecutions: 100,
        // What a dead worker had cached waits that long for it; a busy one costs a replay when it is later.
        stickyQueueScheduleToStartTimeout: '5 seconds',
        ...own,
      }),
    )
  if (takes('orchestrator'))
    workers.push(
      await workflowWorker(
        queue('orchestrator'),
        { ...environment, ...sampling, ...trajectories },
        { enableNonLocalActivities: false },
      ),
    )
  if (takes('environment'))
    workers.push(
      await workflowWorker(
        queue('environment'),
        { ...environment, ...heartbeating(trajectories) },
        { maxConcurrentActivityTaskExecutions: 500 },
      ),
    )
  if (takes('policy'))
    workers.push(
      await Worker.create({
        ...common,
        taskQueue: queue('policy'),
        activities: heartbeating({
          ...sampling,
          ...createRunActivities({ store, runs, serving }),
          ...createEvaluationActivities({ store, runs }),
          ...createAuditActivities({ store }),
          ...createChildrenActivities(),
        }),
        maxConcurrentActivityTaskExecutions: 500,
      }),
    )
  if (takes('trainer'))
    workers.push(
      await Worker.create({
        ...common,
        taskQueue: queue('trainer'),
        activities: heartbeating(
          createTrainingActivities({ home, store, runs, trainerOf: trainers.of, log }),
        ),
        maxConcurrentActivityTaskExecutions: 1, // one update at a time: they share the cores
      }),
    )

  const running = Promise.all(workers.map(runUntilStopped)).then(() => undefined)
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
  return {
    deployment,
    workflows,
    stopped: running,
    async close() {
      stopping.abort()
      await deployment?.close()
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
      await running.catch((error: unknown) => log(`a worker ended with an error: ${String(error)}`))
      await closeSessions()
      await serving.closeAll()
      await trainers.closeAll()
      await runs.close()
      await native.close()
      await store.close()
    },
  }
}

/** Runs a worker; one that was stopped with work in hand has done what it could. */
async function runUntilStopped(worker: Worker): Promise<void> {
  try {
    await worker.run()
  } catch (error) {
    if (!(error instanceof GracefulShutdownPeriodExpiredError)) throw error
  }
}

function embeddedEngine(config: RunConfig): Promise<Engine> {
  const { threads, contextLength } = config.policy
  // Only a synchronous run is reproducible to the byte: what else is in flight follows from timing otherwise.
  const exact = isSynchronous(config.rollout)
  return createEmbeddedEngine({ threads, contextLength, maxBatch: 64, exact })
}
