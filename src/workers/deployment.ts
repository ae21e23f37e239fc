/**
 * Deployment: the builds of the workflows that work for a home, and the one of them on which new workflows start.
 *
 * Temporal pins a workflow, with its children, to the build of the worker that began it, and starts others on the
 * current build. Which one that is has to be said by somebody: here each process with an orchestrator does.
 *
 * Invariants
 * - A person's process makes its build the current one at once.
 * - Of processes that share a server, a newer build steps before an older one, never the other way while workers of
 *   the newer one are there.
 * - A build that has no workers does not stay the current one while another has some.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { tsToMs } from '@temporalio/common/lib/time.js'
import type { NativeConnection, WorkerOptions } from '@temporalio/worker'
import { type HomeName, ownServer } from '../identity.ts'
import { reasonOf } from '../reason.ts'
import { taskQueue } from '../workflows/task-queues.ts'
import { isDeadline, isNotFound, isNotReady } from './call-status.ts'
import { compareVersions } from './temporal-server/binary.ts'

/** The name under which the server knows all builds that work for a home. */
export function deploymentName(home: HomeName): string {
  return home === ownServer ? 'perdure' : `perdure-${home}`
}

/** The first one that moves a single workflow to another build without pinning it there for good. */
const oldestServer = '1.32.0'

/** A worker is known to the server soon after its first poll. */
const registeringEveryMs = 100
/** A build whose environment workers are not there yet is refused while those of another one are busy. */
const refusedEveryMs = 2_000
const placedEveryMs = 30_000
/** A worker polls anew after a minute at the latest. */
const workerGoneMs = 90_000
/** Longer than a busy worker needs to answer. */
const callTimeoutMs = 15_000
/** Answered by the SDK of whichever worker has the workflow. */
const probeQuery = '__temporal_workflow_metadata'
/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const workflowQueue = 1

export interface DeploymentOptions {
  readonly connection: NativeConnection
  readonly namespace: string
  /** Whose builds these are. */
  readonly home: HomeName
  readonly build: string
  /** Whether processes of other builds may be there, or come back. */
  readonly shared: boolean
  /** Whether no other process uses the server. */
  readonly isAlone: () => Promise<boolean>
  readonly log: (line: string) => void
  /** Milliseconds between two looks once it has its place; 30 seconds by default. */
  readonly everyMs?: number
  /** Milliseconds after which a worker that has not polled is gone; 90 seconds by default. */
  readonly goneAfterMs?: number
}

/** This process's part in the deployment. */
export interface Deployment {
  readonly build: string
  /** What the server calls all builds of the home. */
  readonly name: string
  /** Settles when new workflows start on this build, with false when it is closed before. */
  readonly current: Promise<boolean>
  /** Whether a worker of a build is there to go on with an execution. */
  attends(build: string, execution: { readonly workflowId: string; readonly runId: string }): Promise<boolean>
  close(): Promise<void>
}

/** Whether the server can keep builds apart; one that cannot gives any worker any workflow. */
export async function knowsBuilds({ workflowService }: NativeConnection): Promise<boolean> {
  const { serverVersion } = await workflowService.getSystemInfo({})
  return compareVersions(serverVersion, oldestServer) >= 0
}

/** What makes a worker one of a build. */
export function workerOf(home: HomeName, build: string): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  return {
    workerDeploymentOptions: {
      useWorkerVersioning: true,
      version: { deploymentName: deploymentName(home), buildId: build },
      defaultVersioningBehavior: 'PINNED',
    },
  }
}

/** What the server calls a build where it lists workflows. */
export function listedBuild(deployment: string, build: string): string {
  return `${deployment}:${build}`
}

/** Has new workflows start on this build, as far as its place among the others allows, until it is closed. */
export function joinDeployment(options: DeploymentOptions): Deployment {
  const { connection, namespace, home, build, shared, log } = options
  const name = deploymentName(home)
  const { everyMs = placedEveryMs, goneAfterMs = workerGoneMs } = options
  const { workflowService } = connection
  const closing = new AbortController()
  const { signal } = closing
  const { promise: current, resolve: settle } = Promise.withResolvers<boolean>()
  const call = <T>(work: () => Promise<T>) =>
    connection.withAbortSignal(signal, () => connection.withDeadline(Date.now() + callTimeoutMs, work))
  const said = new Set<string>()
  let wasCurrent = false

  function say(line: string): void {
    if (said.has(line)) return
    said.add(line)
    log(line)
  }

  /** The current build, and when a worker of each was last seen. */
  async function look() {
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
      hasWorkers: (of: string) => Date.now() - (seen.get(of) ?? 0) < goneAfterMs,
    }
  }

  /** When each build's first worker first polled. */
  async function beginnings(): Promise<ReadonlyMap<string, number>> {
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
  }

  /** Whether a build may step before the current one. */
  async function mayPass(before: string | undefined, isDeserted: boolean): Promise<boolean | 'unregistered'> {
    if (isDeserted || (!shared && !wasCurrent)) return true
    // What somebody has made the current one afterwards stays so while it can work.
    if (before === undefined || wasCurrent) return false
    const began = await beginnings()
    const own = began.get(build)
    return own === undefined ? 'unregistered' : own > (began.get(before) ?? 0)
  }

  async function stepForward(): Promise<'current' | 'behind' | 'unregistered'> {
    const { current: before, hasWorkers } = await look()
    if (before === build) return 'current'
    const isDeserted = before === undefined || !hasWorkers(before)
    const passes = await mayPass(before, isDeserted)
    if (passes === 'unregistered') return passes
    if (!passes) return 'behind'
    await call(() =>
      workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName: name,
        buildId: build,
        ignoreMissingTaskQueues: !shared || isDeserted,
      }),
    )
    if (before !== undefined)
      log(`new workflows start on build ${build}; what build ${before} began stays with its workers`)
    return 'current'
  }

  async function sayWhatIsLeft(): Promise<void> {
    if (!shared) return
    const query = `ExecutionStatus = "Running" AND TemporalWorkerDeploymentVersion = "${listedBuild(name, build)}"`
    const { count } = await call(() => workflowService.countWorkflowExecutions({ namespace, query }))
    if (Number(count) > 0) say(`another build is the current one: build ${build} ends what it began`)
    else say(`nothing is left of what build ${build} began: its workers can be ended`)
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      let wait = everyMs
      try {
        const place = await stepForward()
        if (place === 'unregistered') wait = registeringEveryMs
        else if (place === 'behind') await sayWhatIsLeft()
        else {
          wasCurrent = true
          settle(true)
        }
      } catch (error) {
        wait = isNotFound(error) ? registeringEveryMs : refusedEveryMs
        const isExpected = isNotFound(error) || isNotReady(error) || isDeadline(error)
        if (!isExpected && !wasCurrent && !signal.aborted)
          say(`build ${build} is not the current one yet: ${reasonOf(error)}`)
      }
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  const working = work()
  return {
    build,
    name,
    current,
    async attends(other, { workflowId, runId }) {
      // The server remembers workers that have gone, and waits for them.
      if (!(await look()).hasWorkers(other) || (await options.isAlone())) return false
      try {
        await call(() =>
          workflowService.queryWorkflow({
            namespace,
            execution: { workflowId, runId },
            query: { queryType: probeQuery },
          }),
        )
      } catch (error) {
        if (isDeadline(error) || isNotReady(error)) return false
        // A worker that could not answer was there all the same, and an execution that has ended needs none.
      }
      return true
    },
    async close() {
      closing.abort()
      await working
      settle(false)
    },
  }
}
