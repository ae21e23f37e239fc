/**
 * Replay of workflow histories with the workflow code at hand.
 *
 * Invariants
 * - It needs no server and changes nothing; endings that are only replayed are not reported.
 */
import type { WorkflowHandle } from '@temporalio/client'
import { type ReplayResult, Worker } from '@temporalio/worker'
import { dataConverter } from '../../temporal/payload-encryption.ts'
import type { BuiltWorkflows } from './workflow-bundle.ts'

/** The history of one execution. */
export interface RecordedExecution {
  readonly workflowId: string
  readonly history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>
}

/** Replays all. @returns why some cannot be replayed, by workflow id */
export async function replayFaults(
  executions: Iterable<RecordedExecution>,
  workflows: BuiltWorkflows,
): Promise<ReadonlyMap<string, Error>> {
  const converter = dataConverter()
  const faults = new Map<string, Error>()
  const results: AsyncIterable<ReplayResult> = Worker.runReplayHistories(
    {
      workflowBundle: workflows,
      ...(converter === undefined ? {} : { dataConverter: converter }),
      sinks: { endings: { ended: { fn: () => undefined } } },
    },
    executions,
  )
  for await (const { workflowId, error } of results) if (error !== undefined) faults.set(workflowId, error)
  return faults
}
