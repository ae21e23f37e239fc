/**
 * What the store has of a run's course: from it the run's state is made again, in a session or in a workflow.
 */
import { configSchema } from '../config/schema.ts'
import type { RunId } from '../identity/identity.ts'
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
    config: configSchema.parse(record.config),
    created: record.created,
    ...(state === undefined ? {} : { state }),
    made: next?.step ?? null,
  }
}
