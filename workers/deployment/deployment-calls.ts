/**
 * Calls to the server about a deployment: its builds, their workers, and the current one.
 *
 * Invariants
 * - No call outlives the signal, or waits longer than a busy worker needs to answer.
 */
import { tsToMs } from '@temporalio/common/lib/time.js'
import type { NativeConnection } from '@temporalio/worker'
import { taskQueue } from '../../contract/task-queues.ts'
import { type HomeName, ownServer } from '../../identity/identity.ts'
import { clock, grpcDeadline } from '../../machine/services/clock.ts'
import { isDeadline, isNotReady } from '../../temporal/calls/call-status.ts'

/** Longer than a busy worker needs to answer. */
const callTimeoutMs = 15_000
/** Answered by the SDK of whichever worker has the workflow. */
const probeQuery = '__temporal_workflow_metadata'
/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const workflowQueue = 1

interface Dependencies {
  readonly connection: NativeConnection
  readonly namespace: string
  readonly home: HomeName
  /** Milliseconds after which a worker that has not polled is gone. */
  readonly goneAfterMs: number
  readonly signal: AbortSignal
}

/** Builds of a home, as the server lists them. */
export interface BuildsSeen {
  /** New workflows start on it. */
  readonly current: string | undefined
  hasWorkers(build: string): boolean
}

export interface DeploymentCalls {
  look(): Promise<BuildsSeen>
  /** When each build's first worker first polled. */
  beginnings(): Promise<ReadonlyMap<string, number>>
  /** @param anyway whether task queues may be without workers of the build */
  makeCurrent(build: string, options: { readonly anyway: boolean }): Promise<void>
  /** Running executions of a build. */
  countRunning(build: string): Promise<number>
  /** Whether a worker answers for an execution. */
  isAnswered(execution: { readonly workflowId: string; readonly runId: string }): Promise<boolean>
}

export function createDeploymentCalls(dependencies: Dependencies): DeploymentCalls {
  const { connection, namespace, home, goneAfterMs, signal } = dependencies
  const { workflowService } = connection
  const name = deploymentName(home)
  const call = <T>(work: () => Promise<T>) =>
    connection.withAbortSignal(signal, () => connection.withDeadline(grpcDeadline(callTimeoutMs), work))

  return {
    async look() {
      const { pollers, versioningInfo } = await call(() =>
        workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: taskQueue('orchestrator', home) },
          taskQueueType: workflowQueue,
        }),
      )
      const seen = new Map<string, number>()
      for (const { deploymentOptions, lastAccessTime } of pollers) {
        const { buildId } = deploymentOptions ?? {}
        if (buildId == null || lastAccessTime == null) continue
        seen.set(buildId, Math.max(seen.get(buildId) ?? 0, tsToMs(lastAccessTime)))
      }
      const version = versioningInfo?.currentDeploymentVersion
      return {
        current: version?.deploymentName === name ? (version.buildId ?? undefined) : undefined,
        hasWorkers: (of) => clock.now() - (seen.get(of) ?? 0) < goneAfterMs,
      }
    },

    async beginnings() {
      const { workerDeploymentInfo } = await call(() =>
        workflowService.describeWorkerDeployment({ namespace, deploymentName: name }),
      )
      const versions = workerDeploymentInfo?.versionSummaries ?? []
      return new Map(
        versions.map(({ deploymentVersion, createTime }) => [
          deploymentVersion?.buildId ?? '',
          tsToMs(createTime),
        ]),
      )
    },

    async makeCurrent(build, { anyway }) {
      await call(() =>
        workflowService.setWorkerDeploymentCurrentVersion({
          namespace,
          deploymentName: name,
          buildId: build,
          ignoreMissingTaskQueues: anyway,
        }),
      )
    },

    async countRunning(build) {
      const query = `ExecutionStatus = "Running" AND TemporalWorkerDeploymentVersion = "${listedBuild(name, build)}"`
      const { count } = await call(() => workflowService.countWorkflowExecutions({ namespace, query }))
      return Number(count)
    },

    async isAnswered(execution) {
      try {
        await call(() =>
          workflowService.queryWorkflow({ namespace, execution, query: { queryType: probeQuery } }),
        )
        return true
      } catch (error) {
        // A worker that could not answer was there all the same, and an execution that has ended needs none.
        return !isDeadline(error) && !isNotReady(error)
      }
    },
  }
}

/** The name under which the server knows all builds that work for a home. */
export function deploymentName(home: HomeName): string {
  return home === ownServer ? 'perdure' : `perdure-${home}`
}

/** Name of a build in the server's lists of workflows. */
export function listedBuild(deployment: string, build: string): string {
  return `${deployment}:${build}`
}
