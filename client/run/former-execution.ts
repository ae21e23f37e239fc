/**
 * Former executions: a run of this home that is in progress under another name of the home, as before it joined a fleet.
 *
 * Invariants
 * - A run has one execution: none is started beside another that still runs.
 * - A run of another home is left alone, whatever it is called.
 */
import type { Client } from '@temporalio/client'
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js'
import type { TrainingState } from '../../contract/training-state.ts'
import { ownServer, workflowIdOf } from '../../identity/identity.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import { describedExecution, startPayloads } from '../../temporal/histories.ts'
import { otherNames } from '../../temporal/home-name.ts'
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
  if ((await describedExecution(client, workflowId))?.status.name !== 'RUNNING') return false
  const { loadedDataConverter } = client.options
  const state = await decodeFromPayloadsAtIndex<Partial<TrainingState>>(
    loadedDataConverter,
    0,
    await startPayloads(client, workflowId),
  )
  return state?.startedAt === created
}
