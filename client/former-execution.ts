/**
 * Former executions: a run of this home that is in progress under another name of the home, as before it joined a fleet or as
 * a release began it that knew no names of homes.
 *
 * Invariants
 * - A run has one execution: none is started beside another that still runs.
 * - A run of another home is left alone, whatever it is called.
 */
import type { Client } from '@temporalio/client'
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js'
import { ownServer, workflowIdOf } from '../identity/identity.ts'
import type { StoredRun } from '../storage/runs.ts'
import { isNotFound } from '../temporal/call-status.ts'
import { otherNames } from '../temporal/home-name.ts'
import type { TrainingState } from '../workflows/training-state.ts'
import type { SessionParts } from './run-calls.ts'
import { SessionFault } from './session-fault.ts'

/** @throws SessionFault `refused` where the run still has an execution under another name */
export async function refuseFormerExecution(
  { client, store, homeName }: SessionParts,
  run: StoredRun,
): Promise<void> {
  for (const name of otherNames(homeName, store)) {
    const workflowId = workflowIdOf(name, run.id)
    if (!(await isRunningFor(client, workflowId, run))) continue
    const way =
      name === ownServer ? 'end the processes that work on it' : 'unset PERDURE_FLEET to continue it there'
    throw new SessionFault(
      'refused',
      `run ${run.id} still runs as workflow ${workflowId}, not as ${workflowIdOf(homeName, run.id)}: ${way}, or terminate that workflow; then \`perdure resume ${run.id}\` continues from its last publication`,
    )
  }
}

/** Whether it is an execution of the very run: a run of another home was not created in the same millisecond. */
async function isRunningFor(client: Client, workflowId: string, { created }: StoredRun): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe()
    if (status.name !== 'RUNNING') return false
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId },
      maximumPageSize: 1,
    })
    const begun = history?.events?.[0]?.workflowExecutionStartedEventAttributes
    const { loadedDataConverter } = client.options
    const state = await decodeFromPayloadsAtIndex<Partial<TrainingState>>(
      loadedDataConverter,
      0,
      begun?.input?.payloads,
    )
    return state?.startedAt === created
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
