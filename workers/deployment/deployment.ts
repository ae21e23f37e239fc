/**
 * Deployment: the builds of the workflows of a home, and the current one, on which new workflows start.
 *
 * Temporal pins a workflow, with its children, to the build of the worker that began it, and starts others on the
 * current build. Temporal leaves the choice to an operator: here each process with an orchestrator makes it.
 *
 * Invariants
 * - A person's process makes its build the current one at once.
 * - A newer build takes precedence over an older one that shares its server, never the other way while workers of
 *   the newer one are there.
 * - A build that has no workers does not stay the current one while another has some.
 */
import type { NativeConnection, WorkerOptions } from '@temporalio/worker'
import { reasonOf } from '../../faults/reason.ts'
import type { HomeName } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { isDeadline, isNotFound, isNotReady } from '../../temporal/calls/call-status.ts'
import { compareVersions } from '../../temporal/server/startup/binary.ts'
import { createDeploymentCalls, type DeploymentCalls, deploymentName } from './deployment-calls.ts'

/** The first server that moves a single workflow to another build without pinning it there for good. */
const oldestServer = '1.32.0'

/** A worker is known to the server soon after its first poll. */
const registeringEveryMs = 100
/** A build whose environment workers are not there yet is refused while those of another one are busy. */
const refusedEveryMs = 2_000
const placedEveryMs = 30_000
/** A worker polls again after a minute at the latest. */
const workerGoneMs = 90_000

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
  /** The server's name for all builds of the home. */
  readonly name: string
  /** Settles when new workflows start on this build, with false when it is closed before. */
  readonly current: Promise<boolean>
  /** Whether a worker of a build is there to continue an execution. */
  attends(build: string, execution: { readonly workflowId: string; readonly runId: string }): Promise<boolean>
  close(): Promise<void>
}

/** Whether the server can keep builds apart; one that cannot gives any worker any workflow. */
export async function knowsBuilds({ workflowService }: NativeConnection): Promise<boolean> {
  const { serverVersion } = await workflowService.getSystemInfo({})
  return compareVersions(serverVersion, oldestServer) >= 0
}

/** Options that make a worker serve a build. */
export function workerOf(home: HomeName, build: string): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  return {
    workerDeploymentOptions: {
      useWorkerVersioning: true,
      version: { deploymentName: deploymentName(home), buildId: build },
      defaultVersioningBehavior: 'PINNED',
    },
  }
}

/** How a build is placed: the current one, behind another, or not known to the server yet. */
type Place = 'current' | 'behind' | 'unregistered'

/** Has new workflows start on this build, as far as its place among the others allows, until it is closed. */
export function joinDeployment(options: DeploymentOptions): Deployment {
  const { connection, namespace, home, build, shared } = options
  const { everyMs = placedEveryMs, goneAfterMs = workerGoneMs } = options
  const closing = new AbortController()
  const { signal } = closing
  const { promise: current, resolve: settle } = Promise.withResolvers<boolean>()
  const calls = createDeploymentCalls({ connection, namespace, home, goneAfterMs, signal })
  const say = onceEach(options.log)
  let wasCurrent = false

  async function work(): Promise<void> {
    while (!signal.aborted) {
      let wait = everyMs
      try {
        const place = await stepForward(options, calls, wasCurrent)
        if (place === 'unregistered') wait = registeringEveryMs
        else if (place === 'behind') {
          if (shared) say(await whatIsLeft(build, calls))
        } else {
          wasCurrent = true
          settle(true)
        }
      } catch (error) {
        wait = isNotFound(error) ? registeringEveryMs : refusedEveryMs
        const isExpected = isNotFound(error) || isNotReady(error) || isDeadline(error)
        if (!isExpected && !wasCurrent && !signal.aborted)
          say(`build ${build} is not the current one yet: ${reasonOf(error)}`)
      }
      await clock.sleep(wait, { signal, ref: false }).catch(() => undefined)
    }
  }

  const working = work()
  return {
    build,
    name: deploymentName(home),
    current,
    async attends(other, execution) {
      // The server remembers workers that have gone, and waits for them.
      if (!(await calls.look()).hasWorkers(other) || (await options.isAlone())) return false
      return calls.isAnswered(execution)
    },
    async close() {
      closing.abort()
      await working
      settle(false)
    },
  }
}

/** Makes the build the current one where it may be. @param wasCurrent whether it has been before */
async function stepForward(
  { build, shared, log }: DeploymentOptions,
  calls: DeploymentCalls,
  wasCurrent: boolean,
): Promise<Place> {
  const { current: before, hasWorkers } = await calls.look()
  if (before === build) return 'current'
  const isDeserted = before === undefined || !hasWorkers(before)
  if (!isDeserted && (shared || wasCurrent)) {
    // A build that replaced this one stays the current one while it can work.
    if (wasCurrent) return 'behind'
    const began = await calls.beginnings()
    const own = began.get(build)
    if (own === undefined) return 'unregistered'
    if (own <= (began.get(before) ?? 0)) return 'behind'
  }
  await calls.makeCurrent(build, { anyway: !shared || isDeserted })
  if (before !== undefined)
    log(`new workflows start on build ${build}; what build ${before} began stays with its workers`)
  return 'current'
}

async function whatIsLeft(build: string, calls: DeploymentCalls): Promise<string> {
  return (await calls.countRunning(build)) > 0
    ? `another build is the current one: build ${build} ends what it began`
    : `nothing is left of what build ${build} began: its workers can be ended`
}

/** Says each line once. */
function onceEach(log: (line: string) => void): (line: string) => void {
  const said = new Set<string>()
  return (line) => {
    if (said.has(line)) return
    said.add(line)
    log(line)
  }
}
