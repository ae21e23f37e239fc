/**
 * Histories that Temporal keeps of a run's workflows: which are past their time, and forgetting them.
 *
 * Invariants
 * - Only a workflow that ended before the given time is forgotten; what it decided is in the store.
 * - Forgetting twice changes nothing.
 */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client'
import type { Payload } from '@temporalio/common'
import type { RunConfig } from '../config/schema/schema.ts'
import { searchAttributes } from '../contract/messages.ts'
import { type HomeName, type RunId, workflowIdOf } from '../identity/identity.ts'
import { isNotFound } from './calls/call-status.ts'

/** An execution that has ended. */
export interface EndedExecution {
  readonly workflowId: string
  readonly runId: string
  /** The size of its history. */
  readonly bytes: number
}

/** Deletions in progress at once: the server carries each out in the background. */
const atOnce = 16

const dayMs = 24 * 60 * 60 * 1000

/** The time before which histories of a run are past theirs. @param now milliseconds since the epoch */
export function historiesBefore({ retention }: RunConfig, now: number): number {
  return now - retention.historyDays * dayMs
}

/** The server's description of an execution; undefined where it has none. */
export async function describedExecution(
  client: Client,
  workflowId: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(workflowId).describe()
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The payloads that an execution was started with; none where the server has no such execution. */
export async function startPayloads(
  { workflowService, options: { namespace } }: Client,
  workflowId: string,
): Promise<Payload[]> {
  try {
    const { history } = await workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId },
      maximumPageSize: 1,
    })
    return history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

/** Executions of a run that ended before a time. @param before milliseconds since the epoch */
export async function endedExecutions(
  client: Client,
  { run, home }: { readonly run: RunId; readonly home: HomeName },
  before: number,
): Promise<EndedExecution[]> {
  const query = `${searchAttributes.run.name} = "${workflowIdOf(home, run)}" AND ExecutionStatus != "Running" AND CloseTime < "${new Date(before).toISOString()}"`
  const ended: EndedExecution[] = []
  for await (const { workflowId, runId, historySize = 0 } of client.workflow.list({ query }))
    ended.push({ workflowId, runId, bytes: historySize })
  return ended
}

/** Has the server delete them; it does so within seconds. @param signal leaves the rest for another time */
export async function forgetExecutions(
  client: Client,
  ended: readonly EndedExecution[],
  signal?: AbortSignal,
): Promise<void> {
  const { workflowService } = client.connection
  const { namespace } = client.options
  const waiting = [...ended]
  async function work(): Promise<void> {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (signal?.aborted) return
      const { workflowId, runId } = next
      try {
        await workflowService.deleteWorkflowExecution({
          namespace,
          workflowExecution: { workflowId, runId },
        })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
