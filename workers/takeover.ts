/**
 * Takeover: continues the workflows of another build once it has no workers.
 *
 * Invariants
 * - What a build began stays with its workers while there are any.
 * - What replays continues at its last step. What does not starts again, and finds its finished work under its identity.
 * - A run that does not replay continues from its last publication, with every order that it has taken.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import { reasonOf } from '../faults/reason.ts'
import { type HomeName, parseWorkflowId, type RunId, runId } from '../identity/identity.ts'
import { isNotFound } from '../temporal/call-status.ts'
import { searchAttributes } from '../workflows/messages.ts'
import { taskQueue } from '../workflows/task-queues.ts'
import type { Deployment } from './deployment.ts'
import { listedBuild } from './deployment-calls.ts'
import { type RecordedExecution, replayFaults } from './replay.ts'
import type { BuiltWorkflows } from './workflow-bundle.ts'

/** Workers that come back after a restart are back by the next round. */
const usuallyEveryMs = 60_000
/** A caller that wants to continue a run waits no longer than this for the rest. */
const lookedWithinMs = 60_000
const atOnce = 16
/** At most so many names of a list are printed. */
const shown = 5

/** Numbers of Temporal's API. */
const allowDuplicate = 1
const terminateExisting = 3

export interface TakeoverOptions {
  readonly client: Client
  /** Whose work is taken over. */
  readonly home: HomeName
  readonly deployment: Deployment
  readonly workflows: BuiltWorkflows
  /** Whether processes of other builds may come back: what they left is then left to them for a while. */
  readonly shared: boolean
  /** Ends the run's execution and continues from its last publication in a new one. */
  readonly relaunch: (run: RunId) => Promise<void>
  readonly log: (line: string) => void
  /** Milliseconds between two rounds; a minute by default. */
  readonly everyMs?: number | undefined
}

export interface Takeover {
  /** Settles when what had been left has been looked for once, or takes long. */
  readonly looked: Promise<void>
  close(): Promise<void>
}

/** An execution that this build is to continue. */
interface Left {
  readonly workflowId: string
  readonly runId: string
  readonly type: string
  readonly taskQueue: string
  readonly build: string
  readonly parent: string | undefined
}

type Recorded = Left & RecordedExecution

/** What is done with an execution that does not replay. */
type Remedy = 'relaunch' | 'begin again' | 'terminate'

const remedies: Readonly<Record<string, Remedy>> = {
  trainingRun: 'relaunch',
  rolloutGroup: 'begin again',
  evaluation: 'begin again',
  branch: 'begin again',
  // Who waits for an episode plays another attempt, and a schedule fires again.
  episode: 'terminate',
  scheduledEvaluation: 'terminate',
}

/** Takes over until it is closed, from when new workflows start on this build. */
export function startTakeover(options: TakeoverOptions): Takeover {
  const { client, deployment, shared, log, everyMs = usuallyEveryMs } = options
  const closing = new AbortController()
  const { signal } = closing
  const { promise: looked, resolve: settle } = Promise.withResolvers<void>()
  /** Builds that were found without workers in the round before. */
  let alone: ReadonlySet<string> = new Set()

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
  }

  async function work(): Promise<void> {
    if (!(await deployment.current)) return
    for (let patient = shared; !signal.aborted; patient = true) {
      try {
        await client.withAbortSignal(signal, () => round(patient))
      } catch (error) {
        if (!signal.aborted) log(`what other builds left is looked for later: ${reasonOf(error)}`)
      }
      settle()
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  const working = work().finally(settle)
  return {
    looked: Promise.race([
      looked,
      sleep(lookedWithinMs, undefined, { signal, ref: false }).catch(() => undefined),
    ]),
    async close() {
      closing.abort()
      await deployment.close()
      await working
    },
  }
}

async function listLeft({ client, deployment }: TakeoverOptions): Promise<readonly Left[]> {
  const query = `ExecutionStatus = "Running" AND TemporalWorkerDeployment = "${deployment.name}" AND TemporalWorkerDeploymentVersion != "${listedBuild(deployment.name, deployment.build)}"`
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
  const recorded: Recorded[] = []
  await inParallel(left, async (each) => {
    const handle = client.workflow.getHandle(each.workflowId, each.runId)
    recorded.push({ ...each, history: await handle.fetchHistory() })
  })
  // What has not done anything yet fits any build.
  const faults = await replayFaults(recorded.filter(hasDoneSomething), workflows)
  const again = withDescendants(recorded, new Set(faults.keys()))
  const moved = recorded.filter(({ workflowId }) => !again.has(workflowId))
  if (faults.size > 0)
    log(
      `build ${deployment.build} cannot replay what build ${from} began: ${listed([...faults.keys()])}; ${again.size} begin again from what they have stored (${[...faults.values()][0]?.message})`,
    )
  for (const remedy of ['terminate', 'begin again', 'relaunch'] as const)
    await inParallel(
      recorded.filter(({ workflowId, type }) => again.has(workflowId) && remedies[type] === remedy),
      (each) =>
        remedy === 'relaunch'
          ? options.relaunch(runId(parseWorkflowId(each.workflowId).id))
          : end(client, each, remedy),
    )
  await inParallel(moved, (each) => move(client, each, deployment))
  if (moved.length > 0)
    log(
      `build ${deployment.build} continues what build ${from} began: ${listed(moved.map(({ workflowId }) => workflowId))}`,
    )
}

function hasDoneSomething({ history }: Recorded): boolean {
  return (history.events ?? []).some((event) => event.workflowTaskCompletedEventAttributes != null)
}

/** What ends with its parent begins again with it; a run's children are on their own. */
function withDescendants(recorded: readonly Recorded[], faulty: ReadonlySet<string>): ReadonlySet<string> {
  const again = new Set(faulty)
  const types = new Map(recorded.map(({ workflowId, type }) => [workflowId, type]))
  const follows = ({ workflowId, parent }: Recorded) =>
    parent !== undefined &&
    again.has(parent) &&
    remedies[types.get(parent) ?? ''] !== 'relaunch' &&
    !again.has(workflowId)
  for (let next = recorded.find(follows); next !== undefined; next = recorded.find(follows))
    again.add(next.workflowId)
  return again
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

async function end(client: Client, execution: Recorded, remedy: 'begin again' | 'terminate'): Promise<void> {
  const { workflowId, runId, history } = execution
  if (remedy === 'terminate') {
    const reason = 'another build of the workflows, which cannot replay it, took over'
    await unlessEnded(() => client.workflow.getHandle(workflowId, runId).terminate(reason))
    return
  }
  const [first] = history.events ?? []
  const begun = first?.workflowExecutionStartedEventAttributes
  if (begun == null) throw new RangeError(`the history of ${workflowId} does not begin with its start`)
  const ours = new Set<string>(Object.values(searchAttributes).map(({ name }) => name))
  const attributes = Object.entries(begun.searchAttributes?.indexedFields ?? {})
  await client.workflowService.startWorkflowExecution({
    namespace: client.options.namespace,
    requestId: randomUUID(),
    workflowId,
    workflowType: begun.workflowType ?? null,
    taskQueue: { name: execution.taskQueue },
    input: begun.input ?? null,
    header: begun.header ?? null,
    memo: begun.memo ?? null,
    searchAttributes: { indexedFields: Object.fromEntries(attributes.filter(([name]) => ours.has(name))) },
    workflowTaskTimeout: begun.workflowTaskTimeout ?? null,
    priority: begun.priority ?? null,
    userMetadata: first?.userMetadata ?? null,
    workflowIdReusePolicy: allowDuplicate,
    // In one step: a caller would wait forever for an identity without an execution.
    workflowIdConflictPolicy: terminateExisting,
  })
}

async function unlessEnded(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const workOff = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next)
  }
  await Promise.all(Array.from({ length: atOnce }, workOff))
}

function listed(names: readonly string[]): string {
  const sorted = names.toSorted()
  const more = sorted.length - shown
  return `${sorted.slice(0, shown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
