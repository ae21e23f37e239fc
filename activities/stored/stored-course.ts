/**
 * A run's course in the store: from it the run's state is made again, in a session or in a workflow.
 *
 * Invariants
 * - [STORED-COURSE-1] No update begins with a group that an earlier one has consumed, whatever the stored state says of it.
 */
import { storedConfig } from '../../config/files/stored-config.ts'
import type { StoredCourse, TrainingState } from '../../contract/training-state.ts'
import { groupId, type RunId } from '../../identity/identity.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import type { Store } from '../../storage/store.ts'
import { endedGroups } from './known-work.ts'

/** @returns undefined where the store has no such run */
export async function storedCourse(
  store: Pick<Store, 'runs' | 'updates' | 'groups'>,
  run: RunId,
): Promise<StoredCourse | undefined> {
  const record = await store.runs.get(run)
  if (record === undefined) return undefined
  const last = (await store.runs.state(run)) as TrainingState | undefined
  const state = last && { ...last, ...(await unconsumedGroups(store, run, last)) }
  const next = await store.updates.get(run, (state?.step ?? 0) + 1)
  return {
    run,
    config: storedConfig(record.config),
    created: record.created,
    ...(state === undefined ? {} : { state }),
    made: next?.step ?? null,
  }
}

/** The groups of a state without those that an update which it counts has consumed. */
async function unconsumedGroups(
  store: Pick<Store, 'groups'>,
  run: RunId,
  { step, ready = [], training = [], skipped = [] }: Partial<TrainingState> & Pick<TrainingState, 'step'>,
): Promise<Pick<TrainingState, 'ready' | 'training' | 'skipped'>> {
  const consumed = new Set<number>()
  for (const number of endedGroups({ ready, training, skipped })) {
    const { consumedBy } = (await store.groups.get(groupId(run, number))) ?? {}
    if (consumedBy !== undefined && consumedBy <= step) consumed.add(number)
  }
  const isLeft = (number: number) => !consumed.has(number)
  return {
    ready: ready.filter(({ number }) => isLeft(number)),
    training: training.filter(({ number }) => isLeft(number)),
    skipped: skipped.map((each) => ({ ...each, numbers: each.numbers.filter(isLeft) })),
  }
}

/** A run's course, with the orders that its stored state does not know yet. */
export interface ContinuedCourse {
  readonly course: StoredCourse
  readonly trail: readonly AuditEntry[]
}

/** @throws StorageFault `missing` where the store has no such run */
export async function continuedCourse(
  store: Pick<Store, 'runs' | 'updates' | 'groups' | 'audit'>,
  run: RunId,
): Promise<ContinuedCourse> {
  const course = await storedCourse(store, run)
  if (course === undefined) throw new StorageFault('missing', `run ${run} is not in the store`)
  const orders = course.state?.orders ?? 0
  return { course, trail: await store.audit.listFrom(run, orders) }
}
