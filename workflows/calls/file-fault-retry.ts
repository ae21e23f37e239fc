/**
 * Retry of work that a file fault has stopped: only a person can repair it, and a night with a full disk ends no run.
 *
 * Invariants
 * - Work is begun again as long as it fails because files can be neither read nor written.
 * - Every other failure is passed on as it is.
 */
import { faultOf } from './failure-reason.ts'

/** Names of the fault classes that free space, or the end of another process, repairs. */
const repairable: Readonly<Record<string, readonly string[]>> = {
  StorageFault: ['disk_full', 'locked', 'io'],
  CheckpointFault: ['io'],
  TrainerFault: ['storage'],
}

/** @param work an activity, which has its own attempts and the time between them */
export async function retryOnFileFaults<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isRepairable(error)) throw error
    }
  }
}

function isRepairable(error: unknown): boolean {
  const fault = faultOf(error)
  return fault !== undefined && (repairable[fault.type]?.includes(fault.kind) ?? false)
}
