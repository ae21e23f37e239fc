/**
 * One Temporal worker: its task queue, limits and build.
 *
 * Invariants
 * - A worker that runs workflows is one of its build, where the server keeps builds apart; the others serve every build.
 */
import { Worker, type WorkerOptions } from '@temporalio/worker'
import type { Activities } from '../activities/calls/wrapping.ts'
import { taskQueue } from '../contract/task-queues.ts'
import type { HomeName } from '../identity/identity.ts'
import { workerOf } from './deployment/deployment.ts'
import type { BuiltWorkflows } from './deployment/workflow-bundle.ts'
import { withLeanThreads } from './deployment/workflow-thread.ts'
import type { Role } from './role-worker-options.ts'

/** After it activities hear of the shutdown; what takes longer is done again later. */
const shutdownGraceTime = '1 second'
/** Calls are given up long before: beyond this the server does not answer. */
const shutdownForceTime = '60 seconds'
/** Workflows kept in memory by default. */
const usuallyCached = 600

const limits: Readonly<Record<Role, Partial<WorkerOptions>>> = {
  orchestrator: { enableNonLocalActivities: false },
  environment: { maxConcurrentActivityTaskExecutions: 500 },
  policy: { maxConcurrentActivityTaskExecutions: 500 },
  trainer: { maxConcurrentActivityTaskExecutions: 1 }, // one update at a time: they share the cores
}

/** Options that the workers of one process share. */
export interface CommonOptions
  extends Pick<WorkerOptions, 'connection' | 'namespace' | 'interceptors' | 'sinks' | 'dataConverter'> {
  readonly homeName: HomeName
}

/** The workflows, and how workers run them. */
export interface WorkflowCode {
  readonly workflows: BuiltWorkflows
  /** The build that the server pins workflows to; undefined where it does not keep builds apart. */
  readonly build: string | undefined
  readonly maxCachedWorkflows?: number | undefined
}

/** @param code for a role that runs workflows */
export async function createRoleWorker(
  role: Role,
  activities: Activities,
  { homeName, ...common }: CommonOptions,
  code?: WorkflowCode,
): Promise<Worker> {
  const options: WorkerOptions = {
    ...common,
    taskQueue: taskQueue(role, homeName),
    activities,
    shutdownGraceTime,
    shutdownForceTime,
    maxHeartbeatThrottleInterval: '2.5 seconds', // a fourth of the shortest heartbeat timeout
    ...limits[role],
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
