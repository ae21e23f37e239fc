/**
 * Restart: an execution that does not replay begins again, from its stored work.
 *
 * Invariants
 * - In one step: a caller would wait forever for an identity without an execution.
 * - Executions that end with their parent begin again with it; a run's children are on their own.
 * - [RESTART-1] After three restarts within an hour an execution does not begin again: a run is paused, and then
 *   left to a person; work for a run is ended, and the run plays it again or gives it up.
 */
import type { Client } from '@temporalio/client'
import { searchAttributes } from '../../contract/messages.ts'
import { parseWorkflowId, type RunId, runId } from '../../identity/identity.ts'
import { chance } from '../../machine/services/chance.ts'
import { clock } from '../../machine/services/clock.ts'
import { isNotFound } from '../../temporal/calls/call-status.ts'
import { describedExecution } from '../../temporal/histories.ts'
import type { Relaunch } from '../../workflows/state/run-state.ts'
import type { RecordedExecution } from './replay.ts'

const atOnce = 16
/** Each restart costs the work since the last publication, and the minute until it is found. */
const mostRestarts = 3
const withinMs = 3_600_000

/** Numbers of Temporal's API. */
const allowDuplicate = 1
const terminateExisting = 3

export interface RestartOptions {
  readonly client: Client
  /** Ends the run's execution and continues from its last publication in a new one. */
  readonly relaunch: (run: RunId, relaunch: Relaunch) => Promise<void>
}

/** A running execution. */
export interface Left {
  readonly workflowId: string
  readonly runId: string
  readonly type: string
  readonly taskQueue: string
  readonly build: string
  readonly parent: string | undefined
}

export type Recorded = Left & RecordedExecution

/** Remedy for an execution that does not replay. */
type Remedy = 'relaunch' | 'relaunch paused' | 'begin again' | 'terminate' | 'leave'

const remedies: Readonly<Record<string, Remedy>> = {
  trainingRun: 'relaunch',
  rolloutGroup: 'begin again',
  evaluation: 'begin again',
  branch: 'begin again',
  experiment: 'begin again',
  // Who waits for an episode plays another attempt, and a schedule fires again.
  episode: 'terminate',
  scheduledEvaluation: 'terminate',
}

/** Children first: a parent that has begun again starts them under their identities. */
const inOrder: readonly Remedy[] = ['terminate', 'begin again', 'relaunch', 'relaunch paused']

/** @param restarts of the execution's identity within the last hour */
export function remedyOf(type: string, restarts: number): Remedy {
  const remedy = remedies[type] ?? 'leave'
  if (restarts < mostRestarts) return remedy
  if (remedy === 'relaunch') return restarts === mostRestarts ? 'relaunch paused' : 'leave'
  return remedy === 'begin again' ? 'terminate' : remedy
}

/** Restarts executions. @param reason in words */
export async function restart(
  options: RestartOptions,
  executions: readonly Recorded[],
  { remedyFor, reason }: { readonly remedyFor: (of: Recorded) => Remedy; readonly reason: string },
): Promise<void> {
  const { client, relaunch } = options
  const ways: Readonly<Record<Remedy, (of: Recorded) => Promise<void>>> = {
    terminate: ({ workflowId, runId }) =>
      unlessEnded(() => client.workflow.getHandle(workflowId, runId).terminate(reason)),
    'begin again': (each) => beginAgain(client, each),
    relaunch: ({ workflowId }) => relaunch(runOf(workflowId), { reason, paused: false }),
    'relaunch paused': ({ workflowId }) => relaunch(runOf(workflowId), { reason, paused: true }),
    leave: async () => undefined,
  }
  for (const remedy of inOrder)
    await inParallel(
      executions.filter((each) => remedyFor(each) === remedy),
      async (each) => {
        // Another process may have restarted it meanwhile.
        if (await isLatest(client, each)) await ways[remedy](each)
      },
    )
}

/** How often an identity was restarted within the last hour. */
export async function countRestarts(client: Client, workflowId: string): Promise<number> {
  const since = new Date(clock.now() - withinMs).toISOString()
  const { count } = await client.workflow.count(
    `WorkflowId = "${workflowId}" AND ExecutionStatus = "Terminated" AND CloseTime > "${since}"`,
  )
  return count
}

/** The faulty executions, and those that begin again with them. */
export function withDescendants(
  executions: readonly Left[],
  faulty: ReadonlySet<string>,
): ReadonlySet<string> {
  const again = new Set(faulty)
  const types = new Map(executions.map(({ workflowId, type }) => [workflowId, type]))
  const follows = ({ workflowId, parent }: Left) =>
    parent !== undefined &&
    again.has(parent) &&
    remedies[types.get(parent) ?? ''] !== 'relaunch' &&
    !again.has(workflowId)
  for (let next = executions.find(follows); next !== undefined; next = executions.find(follows))
    again.add(next.workflowId)
  return again
}

/** With their histories. */
export async function recorded(client: Client, executions: readonly Left[]): Promise<readonly Recorded[]> {
  const found: Recorded[] = []
  await inParallel(executions, async (each) => {
    const handle = client.workflow.getHandle(each.workflowId, each.runId)
    found.push({ ...each, history: await handle.fetchHistory() })
  })
  return found
}

async function beginAgain(client: Client, execution: Recorded): Promise<void> {
  const { workflowId, history } = execution
  const [first] = history.events ?? []
  const begun = first?.workflowExecutionStartedEventAttributes
  if (begun == null) throw new RangeError(`the history of ${workflowId} does not begin with its start`)
  const ours = new Set<string>(Object.values(searchAttributes).map(({ name }) => name))
  const attributes = Object.entries(begun.searchAttributes?.indexedFields ?? {})
  await client.workflowService.startWorkflowExecution({
    namespace: client.options.namespace,
    requestId: chance.uuid(),
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
    workflowIdConflictPolicy: terminateExisting,
  })
}

/** Whether an execution is the running one of its workflow id. */
async function isLatest(client: Client, { workflowId, runId }: Left): Promise<boolean> {
  const latest = await describedExecution(client, workflowId)
  return latest?.runId === runId && latest.status.name === 'RUNNING'
}

export async function unlessEnded(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const workOff = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next)
  }
  await Promise.all(Array.from({ length: atOnce }, workOff))
}

function runOf(workflowId: string): RunId {
  return runId(parseWorkflowId(workflowId).id)
}
