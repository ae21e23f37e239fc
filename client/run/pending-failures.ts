/**
 * Retried activities of a run, as the server knows them; this covers workers that died before they could store the reason.
 */
import type { WorkflowExecutionDescription } from '@temporalio/client'
import type { FailingWork } from '../../contract/messages.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'

/** A worker that stops leaves its work to the next one. */
const noFailure = 'WorkerStopping'

/** @param describe the run's execution; undefined where it has none */
export async function pendingFailures(
  describe: () => Promise<Pick<WorkflowExecutionDescription, 'raw'> | undefined>,
): Promise<readonly FailingWork[]> {
  try {
    const pending = (await describe())?.raw.pendingActivities ?? []
    return pending.flatMap(({ activityType, attempt, lastFailure }) =>
      attempt == null || attempt < 2 || lastFailure?.applicationFailureInfo?.type === noFailure
        ? []
        : [{ work: activityType?.name ?? '', reason: lastFailure?.message ?? '', attempt: attempt - 1 }],
    )
  } catch (error) {
    // A server that does not answer is reported by the progress itself.
    if (error instanceof TemporalFault && error.kind === 'unreachable') return []
    throw error
  }
}
