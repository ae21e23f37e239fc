/**
 * Reading the histories of a server: how each work ended, and which was begun again.
 *
 * Invariants
 * - Every execution of every workflow is read, each link of a chain by itself.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client'
import { openClient } from '../../test/support/executions.ts'

/** One execution of a workflow. */
export interface Execution {
  readonly workflowId: string
  readonly type: string
  readonly status: string
  /** Activities of it that were begun again, by type. */
  readonly again: ReadonlyMap<string, Again>
}

export interface Again {
  /** Activities with more than one attempt. */
  readonly activities: number
  /** Their attempts beyond the first. */
  readonly attempts: number
}

type ExecutionInfo = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'type' | 'status'>

/** Histories read at the same time: enough to hide the way to the server. */
const readAtOnce = 16

/** A way to look at the executions of a home's server. */
export class Histories {
  readonly client: Client
  readonly #close: () => Promise<void>

  private constructor(client: Client, close: () => Promise<void>) {
    this.client = client
    this.#close = close
  }

  static async open(home: string): Promise<Histories> {
    const { client, close } = await openClient(home)
    return new Histories(client, close)
  }

  /** Executions that have not ended. */
  async running(): Promise<number> {
    return (await this.client.workflow.count("ExecutionStatus = 'Running'")).count
  }

  /** True when the run's workflow answers, which only an orchestrator makes it do. */
  async answers(run: string, deadlineMs: number): Promise<boolean> {
    try {
      const handle = this.client.workflow.getHandle(run)
      await this.client.withDeadline(Date.now() + deadlineMs, () => handle.query('progress'))
      return true
    } catch {
      // No answer is an answer here: the caller asks again until its time is up.
      return false
    }
  }

  async executions(): Promise<readonly Execution[]> {
    const found: ExecutionInfo[] = []
    for await (const info of this.client.workflow.list()) found.push(info)
    const executions: Execution[] = []
    for (let at = 0; at < found.length; at += readAtOnce)
      executions.push(
        ...(await Promise.all(found.slice(at, at + readAtOnce).map((info) => this.#read(info)))),
      )
    return executions
  }

  async #read({ workflowId, runId, type, status }: ExecutionInfo): Promise<Execution> {
    const { events } = await this.client.workflow.getHandle(workflowId, runId).fetchHistory()
    const types = new Map<string, string>()
    const again = new Map<string, Again>()
    for (const event of events ?? []) {
      const { activityTaskScheduledEventAttributes: scheduled, activityTaskStartedEventAttributes: started } =
        event
      if (scheduled != null) types.set(String(event.eventId), scheduled.activityType?.name ?? '')
      if (started == null || (started.attempt ?? 1) < 2) continue
      const name = types.get(String(started.scheduledEventId)) ?? ''
      const { activities, attempts } = again.get(name) ?? { activities: 0, attempts: 0 }
      again.set(name, { activities: activities + 1, attempts: attempts + (started.attempt ?? 1) - 1 })
    }
    return { workflowId, type, status: status.name, again }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }
}
