/**
 * Role workers: the Temporal workers of one process, one per role that it takes on.
 *
 * Invariants
 * - [ROLES-1] Everything that is started here is stopped by `close`, or when the rest cannot be started.
 * - It is stopped in one order: workers with their calls in progress, sessions, engines, trainers, tasks, connection, store.
 *   A failure to stop one part does not keep the later ones running.
 * - With local dispatch episodes play in the orchestrator; with server dispatch in the environment workers, which
 *   hold the sessions, and sample through the policy workers' queue.
 * - A worker that runs workflows is one of its build, where the server keeps builds apart; the others serve every build.
 * - A worker that was created is run: until it has, it holds on to its connection.
 * - Disposing asks all of them, and their calls in progress, to end, and waits until they have.
 * - [FLUSHED-1] An activity reports after everything that it stored is on the disk: after a power cut the store has whatever a
 *   workflow has heard of. Activities that end at the same time share one flush.
 * - One whose work cannot be flushed fails with the fault of the store.
 */

import { IllegalStateError } from '@temporalio/common'
import {
  type ActivityInterceptorsFactory,
  GracefulShutdownPeriodExpiredError,
  NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker'
import { failureOf } from '../activities/calls/failure.ts'
import type { Calls } from '../activities/calls/stopping.ts'
import type { Activities } from '../activities/calls/wrapping.ts'
import { taskQueue } from '../contract/task-queues.ts'
import { reasonOf } from '../faults/reason.ts'
import type { HomeName } from '../identity/identity.ts'
import { createHome } from '../storage/disk/home.ts'
import { openStore, type Store } from '../storage/store.ts'
import { observe } from '../telemetry/observation.ts'
import { compressionTo } from '../temporal/connection.ts'
import { dataConverter } from '../temporal/payload-encryption.ts'
import { logged } from '../temporal/runtime.ts'
import { type Deployment, joinDeployment, knowsBuilds, workerOf } from './deployment/deployment.ts'
import { registerDeployment } from './deployment/deployment-registration.ts'
import { type BuiltWorkflows, workflowBundle } from './deployment/workflow-bundle.ts'
import { withLeanThreads } from './deployment/workflow-thread.ts'
import { openRoleActivities } from './role-activities.ts'
import { type Role, type RoleWorkerOptions, roles } from './role-worker-options.ts'

/** Those whose workers run workflows. */
const workflowRoles: ReadonlySet<Role> = new Set(['orchestrator', 'environment'])

export interface RoleWorkers extends AsyncDisposable {
  /** With an orchestrator on a server that keeps builds of the workflows apart. */
  readonly deployment: Deployment | undefined
  /** With a role that runs workflows. */
  readonly workflows: BuiltWorkflows | undefined
  /** Settles when a worker stops, with its error when it failed. */
  readonly stopped: Promise<void>
  close(): Promise<void>
}

/** Options that the workers of one process share. */
interface CommonOptions
  extends Pick<WorkerOptions, 'connection' | 'namespace' | 'interceptors' | 'sinks' | 'dataConverter'>,
    Pick<RoleWorkerOptions, 'slots' | 'drainSeconds'> {
  readonly homeName: HomeName
}

/** The workflows, and how workers run them. */
interface WorkflowCode {
  readonly workflows: BuiltWorkflows
  /** The build that the server pins workflows to; undefined where it does not keep builds apart. */
  readonly build: string | undefined
  readonly maxCachedWorkflows?: number | undefined
}

/** The Temporal workers of this process that run now. */
interface RunningWorkers extends AsyncDisposable {
  start(worker: Worker): void
  /** Settles when those that were started have stopped, with the error of one that failed. */
  stopped(): Promise<void>
}

/** Starts the workers of the roles and returns when they poll. */
export async function startRoleWorkers(options: RoleWorkerOptions): Promise<RoleWorkers> {
  const { connection, homeName } = options
  const log = logged(options.log)
  const home = createHome(options.home)
  await using opened = new AsyncDisposableStack()
  const store = opened.use(await openStore(home.storeFile))
  const native = await NativeConnection.connect({
    ...connection.options,
    grpcCompression: compressionTo(connection.address),
  })
  opened.defer(() => native.close())
  const observation = observe(options.telemetry?.observers ?? [], (error) =>
    log(`telemetry is not recorded: ${String(error)}`),
  )
  const activities = opened.use(
    openRoleActivities({ ...options, home, store, log, around: observation.part }),
  )
  const running = opened.use(createRunningWorkers(activities.calls, log))
  const converter = dataConverter()
  const code = await workflowCode(options, native, log, {
    observed: observation.sinks !== undefined,
    encrypted: converter !== undefined,
  })
  const common = {
    connection: native,
    namespace: connection.namespace,
    homeName,
    slots: options.slots,
    drainSeconds: options.drainSeconds,
    interceptors: { activity: [observation.activity, flushedActivities(store)] },
    ...(observation.sinks === undefined ? {} : { sinks: observation.sinks }),
    ...(converter === undefined ? {} : { dataConverter: converter }),
  }
  for (const role of roles.filter((each) => options.roles.includes(each)))
    running.start(
      await createRoleWorker(role, activities.of[role], common, workflowRoles.has(role) ? code : undefined),
    )
  const stopped = running.stopped()
  const deployment = deploymentOf(options, native, code?.build, log)
  opened.defer(() => deployment?.close())
  const all = opened.move()
  const close = () => all.disposeAsync()
  return { deployment, workflows: code?.workflows, stopped, close, [Symbol.asyncDispose]: close }
}

/** The code for the roles that run workflows; undefined where this process has none of them. */
async function workflowCode(
  {
    roles: wanted,
    connection: { namespace },
    homeName,
    workflows: folder,
    maxCachedWorkflows,
  }: RoleWorkerOptions,
  connection: NativeConnection,
  log: (line: string) => void,
  kind: { readonly observed: boolean; readonly encrypted: boolean },
): Promise<WorkflowCode | undefined> {
  if (!wanted.some((role) => workflowRoles.has(role))) return undefined
  const workflows = await workflowBundle({ ...kind, folder })
  const keepsBuildsApart =
    (await knowsBuilds(connection)) &&
    (await registerDeployment({ connection, namespace, home: homeName, log }))
  return { workflows, build: keepsBuildsApart ? workflows.build : undefined, maxCachedWorkflows }
}

/** Undefined without an orchestrator, or on a server that does not keep builds apart. */
function deploymentOf(
  { roles: wanted, connection: server, homeName, shared = false }: RoleWorkerOptions,
  connection: NativeConnection,
  build: string | undefined,
  log: (line: string) => void,
): Deployment | undefined {
  if (build === undefined || !wanted.includes('orchestrator')) return undefined
  return joinDeployment({
    connection,
    namespace: server.namespace,
    home: homeName,
    build,
    shared,
    isAlone: () => server.isAlone(),
    log,
  })
}

/** After it activities hear of the shutdown; what takes longer than they are given is done again later. */
const graceSeconds = 1

/** Calls are given up long before: so much later the server does not answer. */
const forceSeconds = 60

/** Workflows kept in memory by default. */
const usuallyCached = 600

/** @param slots of a worker of sessions, and of one of sampling */
function limitsOf(role: Role, slots = 500): Partial<WorkerOptions> {
  if (role === 'orchestrator') return { enableNonLocalActivities: false }
  // One update at a time: they share the cores.
  return { maxConcurrentActivityTaskExecutions: role === 'trainer' ? 1 : slots }
}

/** @param code for a role that runs workflows */
async function createRoleWorker(
  role: Role,
  activities: Activities,
  { homeName, slots, drainSeconds = 0, ...common }: CommonOptions,
  code?: WorkflowCode,
): Promise<Worker> {
  const options: WorkerOptions = {
    ...common,
    taskQueue: taskQueue(role, homeName),
    activities,
    shutdownGraceTime: `${Math.max(graceSeconds, drainSeconds)} seconds`,
    shutdownForceTime: `${forceSeconds + drainSeconds} seconds`,
    maxHeartbeatThrottleInterval: '2.5 seconds', // a fourth of the shortest heartbeat timeout
    ...limitsOf(role, slots),
  }
  if (code === undefined) return Worker.create(options)
  const { workflows, build, maxCachedWorkflows = usuallyCached } = code
  return withLeanThreads(() =>
    Worker.create({
      ...options,
      ...(build === undefined ? {} : workerOf(homeName, build)),
      workflowBundle: workflows,
      maxCachedWorkflows,
      maxConcurrentLocalActivityExecutions: 2000, // all turns of all episodes may wait for the engine at once
      // An episode holds its task as long as it plays in blocks: with fewer, others and their groups wait for a place.
      maxConcurrentWorkflowTaskExecutions: usuallyCached,
      // Executions cached by a dead worker wait that long for it; when a busy worker is later than that, the cost is a replay.
      stickyQueueScheduleToStartTimeout: '5 seconds',
    }),
  )
}

function createRunningWorkers(calls: Calls, log: (line: string) => void): RunningWorkers {
  const workers: Worker[] = []
  const runnings: Promise<void>[] = []
  let isStopping = false

  async function runUntilStopped(worker: Worker): Promise<void> {
    try {
      await worker.run()
    } catch (error) {
      // It says so itself, or that its native part is still in use.
      const isLate = error instanceof GracefulShutdownPeriodExpiredError || error instanceof IllegalStateError
      if (!isStopping || !isLate) throw error
      log(`a worker was left before all its activities had ended: ${reasonOf(error)}`)
    }
  }

  return {
    start(worker) {
      workers.push(worker)
      const running = runUntilStopped(worker)
      running.catch(() => undefined)
      runnings.push(running)
    },
    stopped() {
      const all = Promise.all(runnings).then(() => undefined)
      all.catch(() => undefined)
      return all
    },
    async [Symbol.asyncDispose]() {
      isStopping = true
      calls.stop()
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
      await Promise.allSettled(runnings)
    },
  }
}

/** Flushed activities: between the end of an activity's work and its report to Temporal, the store is flushed. */
export function flushedActivities(store: Pick<Store, 'flushed'>): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      async execute(input, next) {
        const result = await next(input)
        try {
          await store.flushed()
        } catch (error) {
          throw failureOf(error)
        }
        return result
      },
    },
  })
}
