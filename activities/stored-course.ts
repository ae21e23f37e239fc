/**
 * What the store has of a run's course: from it the run's state is made again, in a session or in a workflow.
 */
import { storedConfig } from '../config/stored-config.ts'
import type { RunId } from '../identity/identity.ts'
import type { AuditEntry } from '../storage/audit.ts'
import { StorageFault } from '../storage/fault.ts'
import type { Store } from '../storage/store.ts'
import type { StoredCourse } from '../workflows/run-state.ts'
import type { TrainingState } from '../workflows/training-state.ts'

/** @returns undefined where the store has no such run */
export async function storedCourse(
  store: Pick<Store, 'runs' | 'updates'>,
  run: RunId,
): Promise<StoredCourse | undefined> {
  const record = await store.runs.get(run)
  if (record === undefined) return undefined
  const state = (await store.runs.state(run)) as TrainingState | undefined
  const next = await store.updates.get(run, (state?.step ?? 0) + 1)
  return {
    run,
    config: storedConfig(record.config),
    created: record.created,
    ...(state === undefined ? {} : { state }),
    made: next?.step ?? null,
  }
}

/** A run's course, with the orders that its stored state does not know yet. */
export interface ContinuedCourse {
  readonly course: StoredCourse
  readonly trail: readonly AuditEntry[]
}

/** @throws StorageFault `missing` where the store has no such run */
export async function continuedCourse(
  store: Pick<Store, 'runs' | 'updates' | 'audit'>,
  run: RunId,
): Promise<ContinuedCourse> {
  const course = await storedCourse(store, run)
  if (course === undefined) throw new StorageFault('missing', `run ${run} is not in the store`)
  const orders = course.state?.orders ?? 0
  return { course, trail: await store.audit.listFrom(run, orders) }
}
