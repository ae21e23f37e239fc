/**
 * Takeover: continues the workflows of another build once it has no workers, and those of its own build whose history does
 * not replay.
 *
 * A history may not replay on the build that wrote it, e.g. when a machine stood still while its server was killed, so that
 * the execution missed events. The server then gives its task to workers again and again, forever.
 *
 * Invariants
 * - Executions stay with the workers of the build that began them while there are any.
 * - An execution that replays continues at its last step. Any other starts again, and finds its finished work under its identity.
 * - A run that does not replay continues from its last publication, with every order that it has taken.
 * - [TAKEOVER-1] An execution that does not replay on its own build starts again without a person, once its task has failed five times
 *   in a row, and no more often than `restart.ts` allows.
 * - A task that fails for another reason, e.g. a missing key, is left to a person.
 */
import type { Client } from '@temporalio/client'
import { DeterminismViolationError } from '@temporalio/workflow'
import { taskQueue } from '../../contract/task-queues.ts'
import { reasonOf } from '../../faults/reason.ts'
import type { HomeName } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { Deployment } from './deployment.ts'
import { listedBuild } from './deployment-calls.ts'
import { replayFaults } from './replay.ts'
import {
  countRestarts,
  inParallel,
  type Left,
  type Recorded,
  type RestartOptions,
  recorded,
  remedyOf,
  restart,
  unlessEnded,
  withDescendants,
} from './restart.ts'
import type { BuiltWorkflows } from './workflow-bundle.ts'

/** Workers that come back after a restart are back by the next round. */
const usuallyEveryMs = 60_000
/** A caller that wants to continue a run waits no longer than this for the rest. */
const lookedWithinMs = 60_000
/** At most so many names of a list are printed. */
const shown = 5

/** The server says so of an execution whose task has failed or timed out five times in a row, until one is completed. */
const failing = 'TemporalReportedProblems IN ("category=WorkflowTaskFailed", "category=WorkflowTaskTimedOut")'

export interface TakeoverOptions extends RestartOptions {
  /** Whose work is taken over. */
  readonly home: HomeName
  readonly deployment: Deployment
  readonly workflows: BuiltWorkflows
  /** Whether processes of other builds may come back: they then have a while to continue their executions. */
  readonly shared: boolean
  readonly log: (line: string) => void
  /** Milliseconds between two rounds; a minute by default. */
  readonly everyMs?: number | undefined
}

export interface Takeover {
  /** Settles after the first search for executions left behind, or when it takes long. */
  readonly looked: Promise<void>
  close(): Promise<void>
}

/** Takes over until it is closed, from when new workflows start on this build. */
export function startTakeover(options: TakeoverOptions): Takeover {
  const { client, deployment, shared, log, everyMs = usuallyEveryMs } = options
  const closing = new AbortController()
  const { signal } = closing
  const { promise: looked, resolve: settle } = Promise.withResolvers<void>()
  /** Builds that were found without workers in the round before. */
  let alone: ReadonlySet<string> = new Set()
  /** Executions already reported as left to a person. */
  const reported = new Set<string>()

  async function round(patient: boolean): Promise<void> {
    const found = new Set<string>()
    for (const [build, left] of Map.groupBy(await listLeft(options), (each) => each.build)) {
      const asked = left.find((each) => each.taskQueue === taskQueue('orchestrator', options.home)) ?? left[0]
      if (asked === undefined || (await deployment.attends(build, asked))) continue
      if (signal.aborted) return
      if (patient && !alone.has(build)) found.add(build)
      else await takeOver(options, build, left)
    }
    alone = found
    if (!signal.aborted) await restartBroken(options, reported)
  }

  async function work(): Promise<void> {
    if (!(await deployment.current)) return
    for (let patient = shared; !signal.aborted; patient = true) {
      try {
        await client.withAbortSignal(signal, () => round(patient))
      } catch (error) {
        if (!signal.aborted)
          log(`the search for executions left behind is repeated later: ${reasonOf(error)}`)
      }
      settle()
      await clock.sleep(everyMs, { signal, ref: false }).catch(() => undefined)
    }
  }

  const working = work().finally(settle)
  return {
    looked: Promise.race([
      looked,
      clock.sleep(lookedWithinMs, { signal, ref: false }).catch(() => undefined),
    ]),
    async close() {
      closing.abort()
      await deployment.close()
      await working
    },
  }
}

/** Executions in progress of builds other than this one. */
function listLeft(options: TakeoverOptions): Promise<readonly Left[]> {
  const { name, build } = options.deployment
  return listRunning(options, `TemporalWorkerDeploymentVersion != "${listedBuild(name, build)}"`)
}

async function listRunning(
  { client, deployment }: TakeoverOptions,
  condition: string,
): Promise<readonly Left[]> {
  const query = `ExecutionStatus = "Running" AND TemporalWorkerDeployment = "${deployment.name}" AND ${condition}`
  const prefix = listedBuild(deployment.name, '')
  const left: Left[] = []
  for await (const execution of client.workflow.list({ query })) {
    const { workflowId, runId, type, taskQueue } = execution
    const [listed] = execution.searchAttributes.TemporalWorkerDeploymentVersion ?? []
    if (typeof listed !== 'string' || !listed.startsWith(prefix)) continue
    const build = listed.slice(prefix.length)
    const parent = execution.parentExecution?.workflowId ?? undefined
    left.push({ workflowId, runId, type, taskQueue, build, parent })
  }
  return left
}

async function takeOver(options: TakeoverOptions, from: string, left: readonly Left[]): Promise<void> {
  const { client, deployment, workflows, log } = options
  const executions = await recorded(client, left)
  // An execution that has not done anything yet fits any build.
  const faults = await replayFaults(executions.filter(hasDoneSomething), workflows)
  const again = withDescendants(executions, new Set(faults.keys()))
  const moved = executions.filter(({ workflowId }) => !again.has(workflowId))
  const reason = `build ${deployment.build} cannot replay what build ${from} began`
  if (faults.size > 0)
    log(
      `${reason}: ${listed([...faults.keys()])}; ${again.size} begin again from what they have stored (${firstOf(faults)})`,
    )
  await restart(
    options,
    executions.filter(({ workflowId }) => again.has(workflowId)),
    { remedyFor: ({ type }) => remedyOf(type, 0), reason },
  )
  await inParallel(moved, (each) => move(client, each, deployment))
  if (moved.length > 0)
    log(
      `build ${deployment.build} continues what build ${from} began: ${listed(moved.map(({ workflowId }) => workflowId))}`,
    )
}

/** Restarts executions of this build that do not replay. @param reported those already reported as left to a person */
async function restartBroken(options: TakeoverOptions, reported: Set<string>): Promise<void> {
  const { client, deployment, workflows, log } = options
  const own = `TemporalWorkerDeploymentVersion = "${listedBuild(deployment.name, deployment.build)}"`
  const suspects = await listRunning(options, `${own} AND ${failing}`)
  if (suspects.length === 0) return
  const failed = await replayFaults(await recorded(client, suspects), workflows)
  const faults = new Map([...failed].filter(([, error]) => error instanceof DeterminismViolationError))
  if (faults.size === 0) return
  const running = await listRunning(options, own)
  const again = withDescendants(running, new Set(faults.keys()))
  const restarts = new Map<string, number>()
  await inParallel([...faults.keys()], async (workflowId) => {
    restarts.set(workflowId, await countRestarts(client, workflowId))
  })
  const remedyFor = ({ type, workflowId }: Left) => remedyOf(type, restarts.get(workflowId) ?? 0)
  const executions = running.filter(({ workflowId }) => again.has(workflowId))
  const left = executions.filter((each) => remedyFor(each) === 'leave').map(({ workflowId }) => workflowId)
  const restarted = executions.filter((each) => remedyFor(each) !== 'leave')
  const reason = 'its history does not replay on the build that wrote it'
  if (restarted.length > 0)
    log(
      `${listed([...faults.keys()])}: ${reason}; ${restarted.length} begin again from what they have stored (${firstOf(faults)})`,
    )
  for (const workflowId of left.filter((each) => !reported.has(each))) {
    reported.add(workflowId)
    log(
      `${workflowId}: ${reason}, again and again: it is restarted in an hour, or by \`perdure resume\` after an upgrade`,
    )
  }
  await restart(options, await recorded(client, restarted), { remedyFor, reason })
}

function hasDoneSomething({ history }: Recorded): boolean {
  return (history.events ?? []).some((event) => event.workflowTaskCompletedEventAttributes != null)
}

function firstOf(faults: ReadonlyMap<string, Error>): string {
  const message = [...faults.values()][0]?.message ?? ''
  // The SDK dumps the failure, with its sentence in quotes.
  const [, sentence = message] = /message: "((?:[^"\\]|\\.)*)"/.exec(message) ?? []
  return sentence
}

/** Its next task goes to this build, which it belongs to from then on. */
async function move(client: Client, { workflowId, runId }: Left, to: Deployment): Promise<void> {
  await unlessEnded(() =>
    client.workflowService.updateWorkflowExecutionOptions({
      namespace: client.options.namespace,
      workflowExecution: { workflowId, runId },
      workflowExecutionOptions: {
        versioningOverride: {
          oneTime: { targetDeploymentVersion: { deploymentName: to.name, buildId: to.build } },
        },
      },
      updateMask: { paths: ['versioning_override'] },
    }),
  )
}

function listed(names: readonly string[]): string {
  const sorted = names.toSorted()
  const more = sorted.length - shown
  return `${sorted.slice(0, shown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
