/**
 * Executions: the workflow histories of a home's server, and their replay with the code at hand.
 */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type ClientOptions, Connection } from '@temporalio/client'
import { connect } from '../../temporal/connection.ts'
import { dataConverter, unread } from '../../temporal/payload-encryption.ts'
import { installRuntime } from '../../temporal/runtime.ts'
import { type RecordedExecution, replayFaults } from '../../workers/deployment/replay.ts'
import { type BundleKind, workflowBundle } from '../../workers/deployment/workflow-bundle.ts'

export interface Execution extends RecordedExecution {
  readonly type: string
}

/** An execution that a server keeps. */
export interface KeptExecution extends Execution {
  /** Id of this link of the chain alone. */
  readonly runId: string
}

/** A client of the server of a home. @param converting what it makes of payloads */
export async function openClient(
  home: string,
  converting: Pick<ClientOptions, 'dataConverter'> = {},
): Promise<{ client: Client; close(): Promise<void> }> {
  const connection = await connect(home)
  const client = new Client({
    connection: await Connection.connect(connection.options),
    namespace: connection.namespace,
    ...converting,
  })
  return {
    client,
    async close() {
      await client.connection.close()
      await connection.close()
    },
  }
}

/** Asks the server of a home. */
export async function withClient<Result>(
  home: string,
  use: (client: Client) => Promise<Result>,
  converting: Pick<ClientOptions, 'dataConverter'> = {},
): Promise<Result> {
  const { client, close } = await openClient(home, converting)
  try {
    return await use(client)
  } finally {
    await close()
  }
}

/** Every execution that the server of a home keeps, each link of a chain by itself. */
export function fetchHistories(home: string): Promise<readonly KeptExecution[]> {
  const listing = async ({ workflow }: Client) => {
    const executions: KeptExecution[] = []
    for await (const { workflowId, runId, type } of workflow.list())
      executions.push({
        workflowId,
        type,
        runId,
        history: await workflow.getHandle(workflowId, runId).fetchHistory(),
      })
    return executions
  }
  return withClient(home, listing, { dataConverter: unread })
}

/** Replays one of each course. @returns the failures, empty when every execution replays */
export async function replay(
  executions: readonly Execution[],
  kind: BundleKind = {},
): Promise<readonly string[]> {
  installRuntime(join(tmpdir(), 'perdure-replay.log'))
  const encrypted = dataConverter() !== undefined
  const courses = new Map(executions.map((execution) => [courseOf(execution), execution]))
  const faults = await replayFaults([...courses.values()], await workflowBundle({ ...kind, encrypted }))
  return [...faults].map(([workflowId, { message }]) => `${workflowId}: ${message}`)
}

/** Type, events and what they name: of the hundreds of episodes of a run, those with the same ones in the same order replay alike. */
function courseOf({ type, history }: Execution): string {
  const events = (history.events ?? []).map((event) => [
    event.eventType,
    event.activityTaskScheduledEventAttributes?.activityType?.name,
    event.markerRecordedEventAttributes?.markerName,
    event.workflowExecutionSignaledEventAttributes?.signalName,
  ])
  return JSON.stringify([type, events])
}
