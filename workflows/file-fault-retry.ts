/**
 * Patience: what only a person can mend is waited for, so that a night with a full disk ends no run.
 *
 * Invariants
 * - Work is begun again as long as it fails because files can be neither read nor written.
 * - Every other failure is passed on as it is.
 */
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow'

/** Faults of files that room, or the end of another process, mends; by the name of their class. */
const mendable: Readonly<Record<string, readonly string[]>> = {
  StorageFault: ['disk_full', 'locked', 'io'],
  CheckpointFault: ['io'],
  TrainerFault: ['storage'],
}

/** @param work an activity, which has its own attempts and the time between them */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isMendable(error)) throw error
    }
  }
}

function isMendable(error: unknown): boolean {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return false
  const { type, details } = error.cause
  const [detail] = details ?? []
  const isKnown = typeof detail === 'object' && detail !== null && 'kind' in detail
  return isKnown && (mendable[type ?? '']?.includes(String(detail.kind)) ?? false)
}
